"""Subclasses of Java classes with methods in Python.

Py4J implements interfaces only. Javassist, which every PySpark ships, makes a subclass at run time that delegates some
methods to Python (decision 9). Such objects exist on the driver only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError

from paimon_sql.spark.jvm.gateway import JavaObject, Jvm, raise_java

Method = Callable[[Any, Any, Callable[[], Any]], Any]
"""A method in Python: its parameters are the Java object, the arguments, and a function that calls the superclass."""

_PROXY = "javassist.util.proxy"


def subclass_instance(
    jvm: Jvm, parent: str, methods: Mapping[str, Method], *arguments: Any, interfaces: Sequence[str] = ()
) -> Any:
    """A new object of a subclass of a Java class.

    Args:
        jvm: the JVM.
        parent: the full name of the class; its abstract methods that `methods` lacks must never be called.
        methods: the methods in Python, by name, for all overloads; all others are the parent's.
        arguments: the arguments of the parent's constructor, which is found by their number.
        interfaces: further interfaces; their methods that `methods` lacks are Java's defaults.
    """
    key = f"{parent} {sorted(methods)} {sorted(interfaces)}"
    made = jvm.constant(f"subclass {key}", lambda: _subclass(jvm, parent, frozenset(methods), interfaces))
    found = jvm.constant(
        f"constructor {key} {len(arguments)}",
        lambda: next(c for c in made.getConstructors() if c.getParameterCount() == len(arguments)),
    )
    instance = found.newInstance(jvm.array("java.lang.Object", arguments))
    instance.setHandler(_Methods(jvm, methods))
    return instance


def _subclass(jvm: Jvm, parent: str, names: frozenset[str], interfaces: Sequence[str]) -> Any:
    factory = jvm.new(f"{_PROXY}.ProxyFactory")
    factory.setSuperclass(jvm.java_class(parent))
    factory.setInterfaces(jvm.array("java.lang.Class", map(jvm.java_class, interfaces)))
    factory.setFilter(_Named(jvm, names))
    return factory.createClass()


class _Named(JavaObject):
    """Filter of the methods that Python answers."""

    def __init__(self, jvm: Jvm, names: frozenset[str]) -> None:
        super().__init__(jvm)
        self._names = names

    def isHandled(self, method: Any) -> bool:
        return str(method.getName()) in self._names

    class Java:
        implements = [f"{_PROXY}.MethodFilter"]


class _Methods(JavaObject):
    """The methods of one object."""

    def __init__(self, jvm: Jvm, methods: Mapping[str, Method]) -> None:
        super().__init__(jvm)
        self._methods = dict(methods)
        # Asking for the method's name costs a round trip.
        self._only = next(iter(self._methods.values())) if len(self._methods) == 1 else None

    def invoke(self, target: Any, method: Any, proceed: Any, arguments: Any) -> Any:
        answer = self._only or self._methods[str(method.getName())]
        return answer(target, arguments, lambda: _proceed(proceed, target, arguments))

    class Java:
        implements = [f"{_PROXY}.MethodHandler"]


def _proceed(method: Any, target: Any, arguments: Any) -> Any:
    try:
        return method.invoke(target, arguments)
    except Py4JJavaError as error:
        raise_java(error.java_exception.getCause() or error.java_exception)
