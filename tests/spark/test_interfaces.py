"""Every interface of the installed Spark is implemented whole: Py4J never falls back to a default method."""

from __future__ import annotations

import importlib
import pkgutil
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.sql import SparkSession

import paimon_sql.spark
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.rules.compiled_rule import LOGICAL_PLAN

pytestmark = pytest.mark.smoke

_OBJECT = frozenset({"equals", "hashCode", "toString"})
_FUNCTIONS = ("scala.Function1", "scala.Function2")
"""Scala's functions have methods to combine them, which nobody calls on ours."""


def proxies() -> list[type[Proxy]]:
    """All classes that the JVM calls; those that only others are built on are not called themselves."""
    for module in pkgutil.walk_packages(paimon_sql.spark.__path__, "paimon_sql.spark."):
        importlib.import_module(module.name)
    found: list[type[Proxy]] = []
    waiting = [Proxy]
    while waiting:
        children = waiting.pop().__subclasses__()
        waiting += children
        found += [c for c in children if hasattr(c, "implements") and not c.__subclasses__()]
    return sorted(set(found), key=lambda c: c.__qualname__)


@pytest.mark.parametrize("proxy", proxies(), ids=lambda c: c.__name__)
def test_a_proxy_has_all_methods_of_its_interfaces(proxy: type[Proxy], spark: SparkSession) -> None:
    java_class = spark.sparkContext._jvm.java.lang.Class
    loader = spark.sparkContext._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    missing = set()
    for interface in set(proxy.implements) - set(_FUNCTIONS):
        for method in java_class.forName(interface, False, loader).getMethods():
            name = method.getName()
            is_static = spark.sparkContext._jvm.java.lang.reflect.Modifier.isStatic(method.getModifiers())
            if not is_static and "$" not in name and name not in _OBJECT and not hasattr(proxy, name):
                missing.add(f"{interface}.{name}")
    assert not missing, f"{proxy.__name__} lacks {sorted(missing)}"


def test_threads_that_need_a_class_at_once_compile_it_once(spark: SparkSession) -> None:
    jvm, name = Jvm(spark.sparkContext), f"paimon.Raced{uuid.uuid4().hex}"
    together = threading.Barrier(8)

    def compiled(number: int) -> str:
        together.wait()
        return str(
            jvm.compiled_class(name, [f"public int answer() {{ return {number}; }}"], beside=LOGICAL_PLAN).getName()
        )

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(compiled, range(8))) == {name}
