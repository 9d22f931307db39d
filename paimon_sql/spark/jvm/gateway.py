"""Gateway to the JVM: class look-up without round trips, conversion of collections, and proxies.

A proxy is a Python object behind a Java interface. Py4J never falls back to a Java default method, so a proxy must
implement all methods of its interface. `JavaObject` is the base of all proxies: it answers ``equals``, ``hashCode`` and
``toString`` and converts Python's errors to Java exceptions.
"""

from __future__ import annotations

import functools
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

from py4j.java_gateway import JavaClass
from py4j.java_gateway import JavaObject as Py4JObject
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.serializers import CloudPickleSerializer

from paimon_sql.errors import PaimonError
from paimon_sql.spark.jvm.compiled_class import compiled_class
from paimon_sql.spark.jvm.errors import record_crossing

T = TypeVar("T")

CATALYST = "org.apache.spark.sql.catalyst"
CATALOG = "org.apache.spark.sql.connector.catalog"
CONNECTOR = "org.apache.spark.sql.connector"
EXECUTION = "org.apache.spark.sql.execution"
SETTINGS = "org.apache.spark.sql.internal.SQLConf"
_CONVERTERS = "scala.jdk.javaapi.CollectionConverters"
_JOB_EXCEPTION = "org.apache.spark.SparkException"
_MAX_REMEMBERED = 512
_HANDLER = "py4j.reflection.PythonProxyHandler"
_NAMES = "paimon.PythonObjects"
_FIELD = "public static volatile java.lang.reflect.Field kept;"
_NAME_OF = f"""
    public static String of(Object target) {{
        if (target == null || !java.lang.reflect.Proxy.isProxyClass(target.getClass())) return null;
        Object handler = java.lang.reflect.Proxy.getInvocationHandler(target);
        return handler instanceof {_HANDLER} ? (String) kept.get(handler) : null;
    }}"""


class Jvm:
    """The JVM behind a Spark context."""

    def __init__(self, context: SparkContext) -> None:
        self.context = context
        self.gateway: Any = context._gateway
        self.pickler = CloudPickleSerializer()
        self._classes: dict[str, Any] = {}
        self._remembered: OrderedDict[str, Any] = OrderedDict()
        ensure_callback_server_started(self.gateway)
        # Otherwise a Java exception raised inside a callback would reach the JVM wrapped in a Python traceback.
        self.gateway._callback_server.callback_server_parameters.propagate_java_exceptions = True

    def cls(self, name: str) -> Any:
        """The Java class of that full name, without the round trip per package that attribute look-up costs."""
        if name not in self._classes:
            self._classes[name] = JavaClass(name, self.gateway._gateway_client)
        return self._classes[name]

    def static(self, name: str, method: str) -> Any:
        """A static method of the Java class of that full name, cached: a look-up costs a round trip."""
        return self.constant(f"{name}#{method}", lambda: getattr(self.cls(name), method))

    def new(self, name: str, *arguments: Any) -> Any:
        """A new Java object."""
        return self.cls(name)(*arguments)

    def singleton(self, name: str) -> Any:
        """The instance of a Scala object."""
        key = f"{name}$.MODULE$"
        if key not in self._classes:
            self._classes[key] = getattr(self.cls(f"{name}$"), "MODULE$")
        return self._classes[key]

    def java_class(self, name: str) -> Any:
        """The ``java.lang.Class`` of that full name in the context's class loader."""

        def find() -> Any:
            loader = self.cls("java.lang.Thread").currentThread().getContextClassLoader()
            return self.cls("java.lang.Class").forName(name, True, loader)

        return self.constant(f"class {name}", find)

    @property
    def settings(self) -> Any:
        """The ``SQLConf`` that is active on this thread."""
        return self.singleton(SETTINGS).get()

    @property
    def none(self) -> Any:
        """Scala's None."""
        return self.singleton("scala.None")

    def some(self, value: Any) -> Any:
        """Scala's Some(value)."""
        return self.new("scala.Some", value)

    def array(self, element_class: str, items: Iterable[Any] = ()) -> Any:
        """A Java array of the items."""
        values = list(items)
        if not values:
            kind = self.cls(element_class)
            return self.constant(f"{element_class}[0]", lambda: self.gateway.new_array(kind, 0))
        result = self.gateway.new_array(self.cls(element_class), len(values))
        # Py4J's own assignment asks for the length first, a round trip.
        put = self.static("java.lang.reflect.Array", "set")
        for i, value in enumerate(values):
            put(result, i, value)
        return result

    def strings(self, items: Iterable[str] = ()) -> Any:
        """A ``String[]``."""
        return self.array("java.lang.String", items)

    def java_list(self, items: Iterable[Any]) -> Any:
        """A ``java.util.List``."""
        result = self.new("java.util.ArrayList")
        for item in items:
            result.add(item)
        return result

    def java_map(self, items: Mapping[Any, Any]) -> Any:
        """A ``java.util.Map``."""
        result = self.new("java.util.HashMap")
        for key, value in items.items():
            result.put(key, value)
        return result

    def java_set(self, items: Iterable[Any]) -> Any:
        """A ``java.util.Set``."""
        result = self.new("java.util.HashSet")
        for item in items:
            result.add(item)
        return result

    def seq(self, items: Iterable[Any]) -> Any:
        """An immutable Scala ``Seq``."""
        values = list(items)
        if not values:
            return self.constant("empty Seq", lambda: self.singleton("scala.collection.immutable.Nil"))
        return self.static(_CONVERTERS, "asScala")(self.java_list(values)).toSeq()

    def items(self, seq: Any) -> list[Any]:
        """The elements of a Scala ``Seq`` as a Python list."""
        # Py4J ends the iteration of a Java list by a Java exception, which costs more than all elements.
        elements = self.as_java(seq)
        return [elements.get(i) for i in range(elements.size())]

    def empty_map(self) -> Any:
        """An immutable empty Scala ``Map``."""
        return self.constant("empty Map", lambda: self.singleton("scala.collection.immutable.Map").empty())

    def as_java(self, collection: Any) -> Any:
        """A Scala ``Seq`` or ``Map`` as a Java collection."""
        return self.static(_CONVERTERS, "asJava")(collection)

    def scala_map(self, java_map: Any) -> Any:
        """A ``java.util.Map`` as an immutable Scala ``Map``."""
        entries = self.static(_CONVERTERS, "asScala")(java_map)
        return getattr(self.singleton("scala.collection.immutable.Map"), "from")(entries)

    def scala_iterator(self, items: Iterable[Any]) -> Any:
        """A Scala ``Iterator``."""
        return self.static(_CONVERTERS, "asScala")(self.java_list(items).iterator())

    def strings_map(self, java_map: Any) -> dict[str, str]:
        """A ``java.util.Map`` of strings as a Python dictionary, in one round trip."""
        mapper = self.constant("JSON", lambda: self.new("com.fasterxml.jackson.databind.ObjectMapper"))
        found: dict[str, str] = json.loads(mapper.writeValueAsString(java_map))
        return found

    def struct(self, text: str) -> Any:
        """Spark's ``DataType`` of that JSON."""
        return self.remember(text, lambda: self.static("org.apache.spark.sql.types.DataType", "fromJson")(text))

    def enum(self, name: str, member: str) -> Any:
        """A member of a Java enum; nested enums are written with ``$``."""
        key = f"{name}.{member}"
        if key not in self._classes:
            self._classes[key] = self.cls("java.lang.Enum").valueOf(self.java_class(name), member)
        return self._classes[key]

    def constant(self, key: str, make: Callable[[], Any]) -> Any:
        """An immutable Java object, made once and cached forever by its key."""
        if key not in self._classes:
            self._classes[key] = make()
        return self._classes[key]

    def remember(self, key: str, make: Callable[[], Any]) -> Any:
        """An immutable Java object in an LRU cache."""
        found = self._remembered.pop(key, None) or make()
        self._remembered[key] = found
        if len(self._remembered) > _MAX_REMEMBERED:
            self._remembered.popitem(last=False)
        return found

    def pickle(self, value: Any) -> bytearray:
        """A Python value for a worker, pickled; Py4J converts it to ``byte[]``."""
        return bytearray(self.pickler.dumps(value))


def raise_java(exception: Any) -> None:
    """Raise a Java exception so that it reaches the JVM unchanged."""
    raise Py4JJavaError("", exception)


def private_field(target: Any, name: str) -> tuple[Any, Any]:
    """A private field of a Java object, from its class or a superclass: ``(field, value)``."""
    kind = target.getClass()
    while kind is not None:
        for field in kind.getDeclaredFields():
            if field.getName() == name or field.getName().endswith("$$" + name):
                field.setAccessible(True)
                return field, field.get(target)
        kind = kind.getSuperclass()
    raise AttributeError(f"{target.getClass().getName()} has no field {name}")


def python_object(jvm: Jvm, target: Any) -> Any:
    """The Python object behind a Java proxy; None for other Java objects."""
    # Spark compares often: this costs one round trip.
    name = jvm.constant("names of Python objects", lambda: _names(jvm))(target)
    return None if name is None else jvm.gateway.gateway_property.pool[name]


def _names(jvm: Jvm) -> Any:
    """A Java function from a proxy to the name of its Python object; null for other Java objects."""
    identifier = jvm.java_class(_HANDLER).getDeclaredField("id")
    identifier.setAccessible(True)
    made = compiled_class(jvm, _NAMES, (_FIELD, _NAME_OF), beside=_HANDLER)
    made.getField("kept").set(None, identifier)
    return jvm.static(_NAMES, "of")


class JavaObject:
    """A proxy: a Python object that Java code calls through the interfaces of its inner class ``Java``.

    The public methods of a subclass are wrapped: a `PaimonError` becomes a Java exception with the message alone, any
    other Python error a Java exception that names the error's class; Java exceptions pass through.
    """

    jvm: Jvm

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, member in list(vars(cls).items()):
            if callable(member) and not name.startswith("_") and not isinstance(member, type):
                setattr(cls, name, _crossing(member))

    def __init__(self, jvm: Jvm) -> None:
        self.jvm = jvm

    def equals(self, other: Any) -> bool:
        # Java passes never the Python object itself, but its proxy.
        if not isinstance(other, Py4JObject):
            return self is other
        found = python_object(self.jvm, other)
        return found is self or (type(found) is type(self) and self._is_like(found))

    def hashCode(self) -> int:
        return hash(self._trait()) & 0x7FFF_FFFF

    def _is_like(self, other: Any) -> bool:
        """Whether another object of the same class is equal to this one."""
        return False

    def _trait(self) -> Hashable:
        """A value that equal objects share, for the hash."""
        return id(self)

    def toString(self) -> str:
        return type(self).__name__


class _LastAnswer(threading.local):
    """The last object that this thread returned to the JVM, kept alive until the JVM has received it.

    The answer travels as an id, under which the JVM holds the object until Python's garbage collection releases it.
    Py4J sends the release over another connection; if it arrived before the answer, the JVM would read null. The next
    call that the thread answers proves that the previous answer has arrived.
    """

    answer: Any = None


_last = _LastAnswer()


def _crossing(method: Callable[..., T]) -> Callable[..., T]:
    @functools.wraps(method)
    def call(self: JavaObject, *arguments: Any) -> T:
        try:
            answer = method(self, *arguments)
        except Py4JJavaError as error:
            _last.answer = _unchecked(self.jvm, error.java_exception)
            if isinstance(error.__context__, PaimonError):  # raised as a Java exception that the interface declares
                record_crossing(_last.answer, error.__context__)
            raise Py4JJavaError("", _last.answer) from None
        except CapturedException as error:
            # PySpark wraps the JVM's exceptions; the JVM gets the original back.
            _last.answer = _unchecked(self.jvm, error._origin)
            raise Py4JJavaError("", _last.answer) from None
        except Exception as error:
            _last.answer = to_java(self.jvm, error)
            raise Py4JJavaError("", _last.answer) from error
        _last.answer = answer if isinstance(answer, Py4JObject) else None
        return answer

    return call


def _unchecked(jvm: Jvm, exception: Any) -> Any:
    """A Java exception; the checked one of a failed or cancelled job is wrapped, so that every method may throw it."""
    if str(exception.getClass().getName()) != _JOB_EXCEPTION:
        return exception
    return jvm.new("java.lang.RuntimeException", exception.getMessage(), exception)


def to_java(jvm: Jvm, error: Exception) -> Any:
    """A Java exception that carries a Python error's message to the caller of the JVM.

    It is unchecked: a proxy may throw a checked exception only where the interface declares it; the JVM would wrap any
    other one in an exception without a message.
    """
    message = str(error) if isinstance(error, PaimonError) else f"{type(error).__name__}: {error}"
    exception = jvm.new("java.lang.IllegalArgumentException", message)
    if isinstance(error, PaimonError):
        record_crossing(exception, error)
    return exception
