"""Spark sessions with Paimon catalogs: ``connect`` starts one, ``install`` configures an existing one."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from paimon_sql.catalog.registry import normalized_warehouse
from paimon_sql.errors import InvalidInputError
from paimon_sql.spark.session.bridge import Bridge
from paimon_sql.spark.session.launch import launch_jvm
from paimon_sql.spark.session.notebook import in_notebook, show_in_notebook
from paimon_sql.spark.session.requirements import check_java, check_pyspark
from paimon_sql.sql.text.secrets import SECRET_NAMES

DEFAULT_CATALOG = "paimon"
DEFAULT_WAREHOUSE = "warehouse"
_CATALOG_PREFIX = "spark.sql.catalog."
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_EXECUTORS_JAVA_OPTIONS = "spark.executor.extraJavaOptions"
_PYTHON = "spark.pyspark.python"
_LOCAL = "local[*]"
_LOOPBACK = "127.0.0.1"
_BIND = "spark.driver.bindAddress"
_BIND_VARIABLE = "SPARK_LOCAL_IP"
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""The variable that spark-submit sets for its program; Spark's settings are then in its JVM already."""
_UNCHECKED = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
"""Spark checks for null before it reads a value from Arrow, so that Arrow need not check again."""
_NOTEBOOK_SETTINGS = {"spark.sql.repl.eagerEval.enabled": "true", "spark.sql.repl.eagerEval.truncate": "200"}
"""A DataFrame as the last line of a cell is displayed as a table of its first rows."""
_LOGGING = Path(__file__).with_name("log4j2.properties")


def connect(warehouse: str | os.PathLike[str] | None = None, **spark_conf: Any) -> SparkSession:
    """Start an embedded Spark, or join a running one, with the catalog ``paimon`` over a warehouse directory.

    The catalog is the current one, and its database ``default`` exists. Calls with other warehouses in one process
    return separate sessions in the same Spark.

    Args:
        warehouse: a directory or URI; ``./warehouse`` by default. It is created if it does not exist.
        **spark_conf: Spark's settings by name, for example ``**{"spark.sql.shuffle.partitions": "4"}``;
            ``spark.sql.catalog.<name>.<option>`` adds further catalogs.

    Raises:
        SetupError: Java or PySpark is missing or too old.
        InvalidInputError: a name is not a setting of Spark, or Spark runs already and accepts it only at its start.
    """
    settings = {k: str(v) for k, v in spark_conf.items()}
    if foreign := [key for key in settings if not key.startswith("spark.")]:
        raise InvalidInputError(
            f"'{foreign[0]}' is no setting of Spark's, which would pass over it.",
            remedy=f"Their names begin with spark., as **{{'spark.{foreign[0]}': …}}.",
        )
    prefix = f"{_CATALOG_PREFIX}{DEFAULT_CATALOG}."
    path = normalized_warehouse(
        warehouse if warehouse is not None else settings.get(_warehouse_key(), DEFAULT_WAREHOUSE),
        {k.removeprefix(prefix): v for k, v in settings.items() if k.startswith(prefix)},
    )
    settings |= {_warehouse_key(): path}
    settings.setdefault(_CATALOG_PREFIX + DEFAULT_CATALOG, "paimon_sql")
    settings.setdefault("spark.sql.defaultCatalog", DEFAULT_CATALOG)
    if in_notebook():
        settings = _NOTEBOOK_SETTINGS | settings
    running = SparkContext._active_spark_context
    session = _join(running, settings) if running is not None else _start(settings)
    return install(session)


def install(spark: SparkSession, catalogs: Mapping[str, Mapping[str, str]] | None = None) -> SparkSession:
    """Add Paimon's catalogs, SQL and procedures to a session, and to every session created from it.

    Args:
        spark: any classic session.
        catalogs: options by catalog name; they override the session's settings
            ``spark.sql.catalog.<name>.<option>``. A catalog named in neither is not changed.

    Returns:
        The same session.
    """
    check_pyspark()
    for name, options in (catalogs or {}).items():
        spark.conf.set(_CATALOG_PREFIX + name, "paimon_sql")
        for key, value in options.items():
            spark.conf.set(f"{_CATALOG_PREFIX}{name}.{key}", str(value))
    Bridge.of(spark.sparkContext).attach(spark._jsparkSession)
    # PySpark logs each failing statement as a JSON line with its Java stack, in addition to raising the error.
    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    show_in_notebook()
    return spark


def _start(settings: dict[str, str]) -> SparkSession:
    check_pyspark()
    check_java()
    # Spark starts this interpreter on other machines, so a setting takes precedence over ours.
    os.environ.setdefault("PYSPARK_PYTHON", settings.get(_PYTHON, sys.executable))
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if _SUBMITTED in os.environ:
        SparkContext._ensure_initialized()
    conf = SparkConf()
    given = {**dict(conf.getAll()), **settings}
    master = given.get("spark.master", _LOCAL)
    defaults = _defaults(master)
    if _is_local(master):
        # Spark's web UI has no setting for its address, and listens on all interfaces by default.
        os.environ.setdefault(_BIND_VARIABLE, given.get(_BIND, _LOOPBACK))
    # Java options of the user must not restore Spark's own log configuration.
    java = {key: f"{defaults[key]} {given.get(key, '')}".strip() for key in (_JAVA_OPTIONS, _EXECUTORS_JAVA_OPTIONS)}
    conf.setAll(list((defaults | given | java).items()))
    if SparkContext._gateway is None:
        SparkContext._ensure_initialized(gateway=launch_jvm(_without_catalogs(conf)))
    return SparkSession.builder.config(conf=conf).getOrCreate()


def _without_catalogs(conf: SparkConf) -> SparkConf:
    """The settings without those of catalogs, which the JVM gets when the session is created.

    They are passed on the JVM's command line, which all users of the machine can read.
    """
    result = SparkConf(loadDefaults=False)
    return result.setAll([(k, v) for k, v in conf.getAll() if not k.startswith(_CATALOG_PREFIX)])


def _join(running: SparkContext, settings: dict[str, str]) -> SparkSession:
    session = SparkSession(running).newSession()
    for key, value in settings.items():
        if session.conf.get(key, None) == value:
            continue
        if not key.startswith((_CATALOG_PREFIX, "spark.paimon.")) and not session.conf.isModifiable(key):
            raise InvalidInputError(
                f"Spark runs already, so {key} cannot be set to '{value}' any more.",
                remedy="Give it in the first connect() of the process.",
            )
        session.conf.set(key, value)
    return session


def _is_local(master: str) -> bool:
    """Whether Spark runs in one process, without connections from other machines."""
    return master == "local" or master.startswith("local[")


def _defaults(master: str) -> dict[str, str]:
    # On a cluster, Spark's own default number of tasks applies.
    local = {"spark.sql.shuffle.partitions": str(max(2, os.cpu_count() or 2))} if _is_local(master) else {}
    # A driver that listens on the network accepts messages without authentication.
    if _is_local(master) and _BIND_VARIABLE not in os.environ:
        local |= {"spark.driver.host": _LOOPBACK, _BIND: _LOOPBACK}
    return {
        "spark.master": _LOCAL,
        "spark.python.daemon.module": "paimon_sql.spark.session.daemon",
        "spark.app.name": "paimon-sql",
        "spark.driver.memory": "4g",
        **local,
        "spark.ui.showConsoleProgress": "false",
        "spark.log.structuredLogging.enabled": "false",
        "spark.redaction.regex": SECRET_NAMES,
        _JAVA_OPTIONS: f"-Dlog4j2.configurationFile={_LOGGING.as_uri()} {_UNCHECKED}",
        _EXECUTORS_JAVA_OPTIONS: _UNCHECKED,
    }


def _warehouse_key() -> str:
    return f"{_CATALOG_PREFIX}{DEFAULT_CATALOG}.warehouse"
