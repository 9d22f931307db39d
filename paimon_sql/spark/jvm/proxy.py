"""Proxies: Python objects behind Java interfaces, and behind methods of subclasses of Java classes.

Py4J never falls back to a Java default method, so a proxy must implement all methods of its interface. `Proxy` is the
base of all proxies: it answers ``equals``, ``hashCode`` and ``toString``, and converts errors to Java exceptions.

Py4J implements interfaces only. Javassist, which every PySpark ships, makes a subclass at run time that delegates some
methods to Python (decision 9). Such objects exist on the driver only.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NoReturn, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from paimon_sql.errors import PaimonError
from paimon_sql.spark.java.objects import Class, JavaMethod, JavaObject, Member, Object, Throwable
from paimon_sql.spark.jvm.errors import record_crossing
from paimon_sql.spark.jvm.gateway import Jvm

P = TypeVar("P", bound="Proxy")
T = TypeVar("T")

_JOB_EXCEPTION = "org.apache.spark.SparkException"
_HANDLER = "py4j.reflection.PythonProxyHandler"
_OBJECTS = "paimon.PythonObjects"
_INVOCATIONS = "java.lang.reflect.InvocationHandler"
_MEMBERS = (
    "public static volatile java.lang.reflect.Field id;",
    "private java.util.Map known;",
    f"private {_INVOCATIONS} python;",
    f"public PythonObjects(java.util.Map known, {_INVOCATIONS} python) {{ this.known = known; this.python = python; }}",
    """
        public Object invoke(Object proxy, java.lang.reflect.Method method, Object[] arguments) throws Throwable {
            if (arguments == null || arguments.length == 0) {
                Object answer = known.get(method.getName());
                if (answer != null) return answer;
            } else if (arguments[0] == proxy && method.getName().equals("equals")) return Boolean.TRUE;
            return python.invoke(proxy, method, arguments);
        }""",
    f"""
        public static Object knowing(Object target, java.util.Map known) {{
            {_INVOCATIONS} python = java.lang.reflect.Proxy.getInvocationHandler(target);
            return java.lang.reflect.Proxy.newProxyInstance(
                target.getClass().getClassLoader(), target.getClass().getInterfaces(), new {_OBJECTS}(known, python)
            );
        }}""",
    f"""
        public static String nameOf(Object target) {{
            if (target == null || !java.lang.reflect.Proxy.isProxyClass(target.getClass())) return null;
            Object handler = java.lang.reflect.Proxy.getInvocationHandler(target);
            if (handler instanceof {_OBJECTS}) handler = (({_OBJECTS}) handler).python;
            return handler instanceof {_HANDLER} ? (String) id.get(handler) : null;
        }}""",
)


def raise_java(exception: Object) -> NoReturn:
    """Raise a Java exception so that it reaches the JVM unchanged."""
    raise Py4JJavaError("", exception)


def python_object(jvm: Jvm, target: Object) -> object:
    """The Python object behind a Java proxy; None for other Java objects."""
    # Spark compares often: this costs one round trip.
    name = _python_objects(jvm, "nameOf")(target)
    return None if name is None else jvm.gateway.gateway_property.pool[name]


def knowing(proxy: Proxy, known: Mapping[str, object]) -> JavaObject:
    """A proxy in the JVM that answers some methods by itself: a call of Python costs as much as a small rule of Spark.

    Args:
        proxy: the proxy, of which the JVM knows that it is equal to itself.
        known: what methods without parameters always return (`answers_of`).
    """
    made: JavaObject = _python_objects(proxy.jvm, "knowing")(proxy, known)
    return made


def answers_of(jvm: Jvm, *methods: Callable[[], object]) -> Mapping[str, object]:
    """What methods of a proxy return now, as a ``java.util.Map`` by their names."""
    return jvm.java_map({method.__name__: method() for method in methods})


def _python_objects(jvm: Jvm, method: str) -> JavaMethod:
    """A static method of the class that knows Java's side of proxies."""

    def compiled() -> JavaMethod:
        identifier = jvm.java_class(_HANDLER).getDeclaredField("id")
        identifier.setAccessible(True)
        made = jvm.compiled_class(_OBJECTS, _MEMBERS, beside=_HANDLER, interfaces=[_INVOCATIONS])
        made.getField("id").set(None, identifier)
        return jvm.static(_OBJECTS, method)

    return jvm.constant(f"{_OBJECTS}.{method}", compiled)


@dataclass(eq=False)
class Proxy:
    """A proxy: a Python object that Java code calls through the interfaces that it implements.

    The public methods of a subclass are wrapped: a `PaimonError` becomes a Java exception with the message alone, any
    other Python error a Java exception that names the error's class; Java exceptions pass through.

    Attributes:
        implements: the full names of the interfaces.
        jvm: the JVM.
    """

    implements: ClassVar[Sequence[str]]
    jvm: Jvm

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, member in list(vars(cls).items()):
            if callable(member) and not name.startswith("_") and not isinstance(member, type):
                setattr(cls, name, _crossing(member))

    @property
    def Java(self) -> Proxy:
        """Where Py4J looks for the interfaces."""
        return self

    def equals(self, other: object) -> bool:
        # Java passes never the Python object itself, but its proxy.
        if not isinstance(other, JavaObject):
            return self is other
        found = python_object(self.jvm, other)
        return found is self or (type(found) is type(self) and self._is_like(found))

    def hashCode(self) -> int:
        return hash(self._trait()) & 0x7FFF_FFFF

    def _is_like(self: P, other: P) -> bool:
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

    answer: object = None


_last = _LastAnswer()


def _crossing(method: Callable[..., T]) -> Callable[..., T]:
    @functools.wraps(method)
    def call(self: Proxy, *arguments: object) -> T:
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
        _last.answer = answer if isinstance(answer, JavaObject) else None
        return answer

    return call


def _unchecked(jvm: Jvm, exception: Throwable) -> Throwable:
    """A Java exception; the checked one of a failed or cancelled job is wrapped, so that every method may throw it."""
    if str(exception.getClass().getName()) != _JOB_EXCEPTION:
        return exception
    return jvm.new("java.lang.RuntimeException", exception.getMessage(), exception)


def to_java(jvm: Jvm, error: Exception) -> Throwable:
    """A Java exception that carries a Python error's message to the caller of the JVM.

    It is unchecked: a proxy may throw a checked exception only where the interface declares it; the JVM would wrap any
    other one in an exception without a message.
    """
    message = str(error) if isinstance(error, PaimonError) else f"{type(error).__name__}: {error}"
    exception = jvm.new("java.lang.IllegalArgumentException", message)
    if isinstance(error, PaimonError):
        record_crossing(exception, error)
    return exception


@dataclass(eq=False)
class ScalaFunction(Proxy):
    """A Scala function of up to two parameters.

    Attributes:
        answer: computes its result.
        text: its string in the JVM.
    """

    implements = ["scala.Function0", "scala.Function1", "scala.Function2"]
    answer: Callable[..., object]
    text: str = "paimon-sql function"

    def toString(self) -> str:
        return self.text

    def apply(self, *arguments: object) -> object:
        return self.answer(*arguments)


Method = Callable[[JavaObject, Sequence[object], Callable[[], object]], object]
"""A method in Python: its parameters are the Java object, the arguments, and a function that calls the superclass."""

_PROXY = "javassist.util.proxy"
_METHODS = f"{_PROXY}.MethodHandler"


def subclass_instance(
    jvm: Jvm, parent: str, methods: Mapping[str, Method], *arguments: object, interfaces: Sequence[str] = ()
) -> JavaObject:
    """A new object of a subclass of a Java class.

    Args:
        jvm: the JVM.
        parent: the full name of the class; its abstract methods that `methods` lacks must never be called.
        methods: the methods in Python, by name, for all overloads; all others are the parent's.
        arguments: the arguments of the parent's constructor, which is found by their number.
        interfaces: further interfaces; their methods that `methods` lacks are Java's defaults.
    """
    return _instance(jvm, parent, frozenset(methods), interfaces, arguments, _Methods(jvm, methods))


_TELLING = "paimon.Telling"
_TOLD = "public volatile scala.Function2 told;"
_INVOKE = """
    public Object invoke(Object target, java.lang.reflect.Method method, java.lang.reflect.Method proceed,
            Object[] arguments) throws Throwable {
        Object answer = null;
        try {
            answer = proceed.invoke(target, arguments);
        } catch (java.lang.reflect.InvocationTargetException error) {
            throw error.getCause();
        }
        told.apply(method.getName(), arguments[0]);
        return answer;
    }"""


def telling_instance(
    jvm: Jvm, parent: str, methods: Sequence[str], told: Callable[[str, str], object], *arguments: object
) -> JavaObject:
    """A new object of a subclass of a Java class that tells Python of some calls after the parent has answered them.

    Compared with `subclass_instance`, Python need not ask which method was called with what, and call the parent.

    Args:
        jvm: the JVM.
        parent: the full name of the class.
        methods: the names of the methods, whose first parameter is a string.
        told: called with the name of the method and its first argument.
        arguments: the arguments of the parent's constructor.
    """
    made = jvm.compiled_class(_TELLING, (_TOLD, _INVOKE), beside=_METHODS, interfaces=[_METHODS])
    handler = jvm.compiled_object(made, told=ScalaFunction(jvm, told))
    return _instance(jvm, parent, frozenset(methods), (), arguments, handler)


def _instance(
    jvm: Jvm,
    parent: str,
    names: frozenset[str],
    interfaces: Sequence[str],
    arguments: Sequence[object],
    handler: object,
) -> JavaObject:
    """A new object of a subclass, whose methods of these names a handler answers."""
    key = f"{parent} {sorted(names)} {sorted(interfaces)}"
    made = jvm.constant(f"subclass {key}", lambda: _subclass(jvm, parent, names, interfaces))
    found = jvm.constant(
        f"constructor {key} {len(arguments)}",
        lambda: next(c for c in made.getConstructors() if c.getParameterCount() == len(arguments)),
    )
    instance = found.newInstance(jvm.objects(arguments))
    instance.setHandler(handler)
    return instance


def _subclass(jvm: Jvm, parent: str, names: frozenset[str], interfaces: Sequence[str]) -> Class:
    factory = jvm.new(f"{_PROXY}.ProxyFactory")
    factory.setSuperclass(jvm.java_class(parent))
    factory.setInterfaces(jvm.array("java.lang.Class", map(jvm.java_class, interfaces)))
    factory.setFilter(_Named(jvm, names))
    return factory.createClass()


@dataclass(eq=False)
class _Named(Proxy):
    """Filter of the methods that Python answers."""

    implements = [f"{_PROXY}.MethodFilter"]
    names: frozenset[str]

    def isHandled(self, method: Member) -> bool:
        return method.getName() in self.names


class _Methods(Proxy):
    """The methods of one object."""

    implements = [_METHODS]

    def __init__(self, jvm: Jvm, methods: Mapping[str, Method]) -> None:
        super().__init__(jvm)
        self._methods = dict(methods)
        # Asking for the method's name costs a round trip.
        self._only = next(iter(self._methods.values())) if len(self._methods) == 1 else None

    def invoke(self, target: JavaObject, method: Member, proceed: Member, arguments: Sequence[object]) -> object:
        answer = self._only or self._methods[method.getName()]
        return answer(target, arguments, lambda: _proceed(proceed, target, arguments))


def _proceed(method: Member, target: JavaObject, arguments: Sequence[object]) -> JavaObject:
    try:
        return method.invoke(target, arguments)
    except Py4JJavaError as error:
        raise_java(error.java_exception.getCause() or error.java_exception)
