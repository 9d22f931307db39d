"""Gateway to the JVM: class look-up without round trips, conversion of collections, classes made at run time."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NoReturn, TypeVar, cast

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.serializers import CloudPickleSerializer

from paimon_sql.cache import Cache
from paimon_sql.spark.java.catalyst import StructType
from paimon_sql.spark.java.objects import (
    Class,
    Field,
    JavaClass,
    JavaList,
    JavaMethod,
    JavaObject,
    Object,
    Option,
    ScalaMap,
    Seq,
)
from paimon_sql.spark.java.session import SQLConf

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

CATALYST = "org.apache.spark.sql.catalyst"
CATALOG = "org.apache.spark.sql.connector.catalog"
CONNECTOR = "org.apache.spark.sql.connector"
EXECUTION = "org.apache.spark.sql.execution"
DATASOURCES = f"{EXECUTION}.datasources"
_FIELDS = "org.apache.commons.lang3.reflect.FieldUtils"
PLANS, EXPRESSIONS = f"{CATALYST}.plans.logical", f"{CATALYST}.expressions"
TYPES = "org.apache.spark.sql.types"
DATA_TYPE = f"{TYPES}.DataType"
OPTIONS_MAP = "org.apache.spark.sql.util.CaseInsensitiveStringMap"
SETTINGS = "org.apache.spark.sql.internal.SQLConf"
_CONVERTERS = "scala.jdk.javaapi.CollectionConverters"
_MAX_REMEMBERED = 512


class Jvm:
    """The JVM behind a Spark context."""

    def __init__(self, context: SparkContext) -> None:
        self.context = context
        self.gateway: JavaGateway = context._gateway
        self.pickler = CloudPickleSerializer()
        self._constants: dict[str, object] = {}
        self._turns: dict[str, threading.RLock] = {}
        self._remembered = Cache[str, object](_MAX_REMEMBERED)
        # PySpark's own look-up by this name, for each `spark.sql`, asks for it in several packages.
        vars(context._jvm).setdefault("PythonUtils", self.cls("org.apache.spark.api.python.PythonUtils"))
        ensure_callback_server_started(self.gateway)
        # Otherwise a Java exception raised inside a callback would reach the JVM wrapped in a Python traceback.
        self.gateway._callback_server.callback_server_parameters.propagate_java_exceptions = True

    def cls(self, name: str) -> JavaClass:
        """The Java class of that full name, without the round trip per package that attribute look-up costs."""
        return self.constant(name, lambda: JavaClass(name, self.gateway._gateway_client))

    def static(self, name: str, method: str) -> JavaMethod:
        """A static method of the Java class of that full name, cached: a look-up costs a round trip."""
        return self.constant(f"{name}#{method}", lambda: cast(JavaMethod, getattr(self.cls(name), method)))

    def new(self, name: str, *arguments: object) -> JavaObject:
        """A new Java object."""
        return self.cls(name)(*arguments)

    def singleton(self, name: str) -> JavaObject:
        """The instance of a Scala object."""
        return self.constant(f"{name}$.MODULE$", lambda: cast(JavaObject, getattr(self.cls(f"{name}$"), "MODULE$")))

    def java_class(self, name: str) -> Class:
        """The ``java.lang.Class`` of that full name in the context's class loader."""

        def find() -> JavaObject:
            loader = self.cls("java.lang.Thread").currentThread().getContextClassLoader()
            return self.cls("java.lang.Class").forName(name, True, loader)

        return self.constant(f"class {name}", find)

    @property
    def settings(self) -> SQLConf:
        """The ``SQLConf`` that is active on this thread."""
        return self.singleton(SETTINGS).get()

    @property
    def parallelism(self) -> int:
        """The number of tasks that run at a time; it grows while the executors of a cluster register."""
        return int(self.context.defaultParallelism)

    @property
    def none(self) -> Option[NoReturn]:
        """Scala's None."""
        return self.singleton("scala.None")

    def some(self, value: T) -> Option[T]:
        """Scala's Some(value)."""
        return self.new("scala.Some", value)

    def array(self, element_class: str, items: Iterable[T] = ()) -> Sequence[T]:
        """A Java array of the items."""
        values = list(items)
        if not values:
            kind = self.cls(element_class)
            return self.constant(f"{element_class}[0]", lambda: cast("Sequence[T]", self.gateway.new_array(kind, 0)))
        result: Sequence[T] = self.gateway.new_array(self.cls(element_class), len(values))
        # Py4J's own assignment asks for the length first, a round trip.
        put = self.static("java.lang.reflect.Array", "set")
        for i, value in enumerate(values):
            put(result, i, value)
        return result

    def objects(self, items: Iterable[object]) -> Sequence[object]:
        """An ``Object[]``."""
        return self.array("java.lang.Object", items)

    def strings(self, items: Iterable[str] = ()) -> Sequence[str]:
        """A ``String[]``."""
        return self.array("java.lang.String", items)

    def java_list(self, items: Iterable[T]) -> JavaList[T]:
        """A ``java.util.List``."""
        result = self.new("java.util.ArrayList")
        for item in items:
            result.add(item)
        return result

    def java_map(self, items: Mapping[K, V]) -> Mapping[K, V]:
        """A ``java.util.Map``."""
        result = self.new("java.util.HashMap")
        for key, value in items.items():
            result.put(key, value)
        return cast("Mapping[K, V]", result)

    def java_set(self, items: Iterable[T]) -> Collection[T]:
        """A ``java.util.Set``."""
        result = self.new("java.util.HashSet")
        for item in items:
            result.add(item)
        return cast("Collection[T]", result)

    @property
    def nil(self) -> Seq[NoReturn]:
        """Scala's empty ``Seq``."""
        return self.singleton("scala.collection.immutable.Nil")

    def seq(self, items: Iterable[T]) -> Seq[T]:
        """An immutable Scala ``Seq``."""
        values = list(items)
        if not values:
            return self.nil
        return self.static(_CONVERTERS, "asScala")(self.java_list(values)).toSeq()

    def items(self, seq: Seq[T]) -> list[T]:
        """The elements of a Scala ``Seq`` as a Python list."""
        # Py4J ends the iteration of a Java list by a Java exception, which costs more than all elements.
        elements = self.as_list(seq)
        return [elements.get(i) for i in range(elements.size())]

    def empty_map(self) -> JavaObject:
        """An immutable empty Scala ``Map``."""
        return self.constant("empty Map", lambda: self.singleton("scala.collection.immutable.Map").empty())

    def as_list(self, seq: Seq[T]) -> JavaList[T]:
        """A Scala ``Seq`` as a ``java.util.List``."""
        return self.static(_CONVERTERS, "asJava")(seq)

    def as_map(self, entries: ScalaMap[K, V]) -> Mapping[K, V]:
        """A Scala ``Map`` as a ``java.util.Map``."""
        return cast("Mapping[K, V]", self.static(_CONVERTERS, "asJava")(entries))

    def scala_map(self, java_map: Mapping[K, V]) -> ScalaMap[K, V]:
        """A ``java.util.Map`` as an immutable Scala ``Map``."""
        entries = self.static(_CONVERTERS, "asScala")(java_map)
        made: ScalaMap[K, V] = getattr(self.singleton("scala.collection.immutable.Map"), "from")(entries)
        return made

    def scala_iterator(self, items: Iterable[object]) -> JavaObject:
        """A Scala ``Iterator``."""
        return self.static(_CONVERTERS, "asScala")(self.java_list(items).iterator())

    def strings_map(self, java_map: Mapping[str, str]) -> dict[str, str]:
        """A ``java.util.Map`` of strings as a Python dictionary, in one round trip."""
        mapper = self.constant("JSON", lambda: self.new("com.fasterxml.jackson.databind.ObjectMapper"))
        found: dict[str, str] = json.loads(str(mapper.writeValueAsString(java_map)))
        return found

    def struct(self, kind: str | Mapping[str, object]) -> StructType:
        """Spark's ``DataType`` of a type in its JSON form."""
        text, from_json = json.dumps(kind), self.static(DATA_TYPE, "fromJson")
        found: StructType = self.remember(text, lambda: from_json(text))
        return found

    def enum(self, name: str, member: str) -> JavaObject:
        """A member of a Java enum; nested enums are written with ``$``."""
        found: JavaObject = self.constant(
            f"{name}.{member}", lambda: self.cls("java.lang.Enum").valueOf(self.java_class(name), member)
        )
        return found

    def compiled_class(
        self,
        name: str,
        members: Sequence[str],
        *,
        beside: str,
        parent: str | None = None,
        interfaces: Sequence[str] = (),
    ) -> Class:
        """The class of that name, compiled from Java source if this JVM does not have it yet (decision 9).

        Javassist compiles it, which every PySpark ships. Such classes save calls from the JVM to Python where the
        answer is known or Python has nothing to do. They exist on the driver only.

        Args:
            name: the full name of the class.
            members: Java source of its fields, constructors and methods: fields first, each member after those that it
                refers to. Without a constructor the class gets one without parameters.
            beside: the full name of a class whose class loader defines the new class.
            parent: the full name of the superclass.
            interfaces: the full names of the interfaces.
        """
        return self.constant(f"compiled {name}", lambda: self._compiled(name, members, beside, parent, interfaces))

    def compiled_object(self, made: Class, **fields: object) -> JavaObject:
        """A new object of a compiled class, with the values of its public fields."""
        new = made.newInstance()
        for field, value in fields.items():
            made.getField(field).set(new, value)
        return new

    def _compiled(
        self, name: str, members: Sequence[str], beside: str, parent: str | None, interfaces: Sequence[str]
    ) -> Class:
        loader = self.java_class(beside).getClassLoader()
        try:
            return loader.loadClass(name)
        except Py4JJavaError as error:
            if error.java_exception.getClass().getSimpleName() != "ClassNotFoundException":
                raise
        pool = self.new("javassist.ClassPool", True)
        pool.appendClassPath(self.new("javassist.LoaderClassPath", loader))
        made = pool.makeClass(name)
        if parent is not None:
            made.setSuperclass(pool.get(parent))
        for interface in interfaces:
            made.addInterface(pool.get(interface))
        has_constructor, constructors = f"public {name.rpartition('.')[2]}(", self.cls("javassist.CtNewConstructor")
        for member in members:
            if member.rstrip().endswith(";"):
                made.addField(self.cls("javassist.CtField").make(member, made))
            elif member.startswith(has_constructor):
                made.addConstructor(constructors.make(member, made))
            else:
                made.addMethod(self.cls("javassist.CtNewMethod").make(member, made))
        if not any(member.startswith(has_constructor) for member in members):
            made.addConstructor(constructors.defaultConstructor(made))
        return made.toClass(loader, None)

    def constant(self, key: str, make: Callable[[], T]) -> T:
        """An immutable Java object, made once and cached forever by its key; other threads wait while it is made."""
        if key not in self._constants:
            with self._turns.setdefault(key, threading.RLock()):
                if key not in self._constants:
                    self._constants[key] = make()
            self._turns.pop(key, None)
        return cast(T, self._constants[key])

    def remember(self, key: str, make: Callable[[], T]) -> T:
        """An immutable Java object in an LRU cache."""
        return cast(T, self._remembered.compute(key, make))

    def pickle(self, value: object) -> bytearray:
        """A Python value for a worker, pickled; Py4J converts it to ``byte[]``."""
        return bytearray(self.pickler.dumps(value))


def private_field(target: Object, name: str) -> tuple[Field, JavaObject]:
    """A private field of a Java object, from its class or a superclass: ``(field, value)``."""
    kind = target.getClass()
    # One call instead of two for each field, of which some classes have a hundred.
    found: Field | None = JavaClass(_FIELDS, getattr(target, "_gateway_client")).getField(kind, name, True)  # noqa: B009
    field = _field_of_trait(kind, name) if found is None else found
    return field, field.get(target)


def _field_of_trait(kind: Class, name: str) -> Field:
    """A field that Scala names after the trait as well."""
    above: Class | None = kind
    while above is not None:
        for field in above.getDeclaredFields():
            if field.getName().endswith("$$" + name):
                field.setAccessible(True)
                return field
        above = above.getSuperclass()
    raise AttributeError(f"{kind.getName()} has no field {name}")
