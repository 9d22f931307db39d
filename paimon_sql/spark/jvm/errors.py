"""Errors that cross the JVM: the `PaimonError` that caused an exception of Spark or Py4J.

Java code calls Python, which may raise a `PaimonError`. The JVM rethrows it as a Java exception, perhaps wrapped in
others, and the Python code that called the JVM gets an exception of Spark or Py4J. `record_crossing` maps the Java
exception to the error; of an error of a Python worker only the message crosses.

A carried statement must not throw Spark's checked exceptions, and the exception of a task is a cause of its job's:
`one_error` converts both.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.captured import CapturedException

from paimon_sql.cache import Cache
from paimon_sql.errors import InvalidInputError, PaimonError
from paimon_sql.process import share
from paimon_sql.spark.java.objects import Throwable

_MAX_ERRORS = 128
_WORKER_EXCEPTION = "org.apache.spark.api.python.PythonException"
_PACKAGE = "paimon_sql."
_STATE = " SQLSTATE: "
_RAISED = re.compile(r"^\[USER_RAISED_EXCEPTION\] | SQLSTATE: \w{5}$")


_crossed = share(lambda: Cache[tuple[int, str], PaimonError](_MAX_ERRORS))
"""The latest errors that crossed, by their Java exceptions."""


def record_crossing(exception: Throwable, error: PaimonError) -> None:
    """Record the error that a Java exception carries."""
    # The copy has no traceback, which would keep its frames and their locals alive.
    _crossed().put(_identity(exception), copy.copy(error))


def _noted(exception: Throwable) -> PaimonError | None:
    found = _crossed().get(_identity(exception))
    return None if found is None else copy.copy(found)


def paimon_error_of(raised: BaseException | None) -> PaimonError | None:
    """The `PaimonError` that an exception of Spark or Py4J carries or was caused by; None if there is none.

    An error raised in this process is complete. One raised by a Python worker has its class and its message, which
    includes the remedy; its other attributes are None.
    """
    while isinstance(raised, CapturedException) and raised._origin is None:
        raised = raised._cause  # PySpark has no Java exception for this one
    if isinstance(raised, PaimonError):
        return raised
    return paimon_error_in(thrown_by(raised))


def paimon_error_in(thrown: Throwable | None) -> PaimonError | None:
    """As `paimon_error_of`, of a Java exception."""
    for link in causes(thrown):
        if (found := _noted(link) or _of_worker(link)) is not None:
            return found
    return None


def spark_message_instead(thrown: Throwable | None) -> str | None:
    """The message, with a code, of the exception of Spark's that Python code threw instead of a `PaimonError`.

    None if no error of ours is behind the exception, or if it crossed as itself.
    """
    for link in causes(thrown):
        if _noted(link) is not None:
            message = str(link.getMessage() or "")
            return message if message.startswith("[") else None
    return None


def thrown_by(raised: BaseException | None) -> Throwable | None:
    """The Java exception that Py4J or PySpark raised; None if it is another one."""
    thrown: Throwable | None = None
    if isinstance(raised, Py4JJavaError):
        thrown = raised.java_exception
    elif isinstance(raised, CapturedException):
        thrown = raised._origin
    return thrown


@contextmanager
def one_error(doing: str) -> Iterator[None]:
    """Raise the cause of a Java exception as one error of ours.

    Args:
        doing: the beginning of the message: what failed.

    Raises:
        PaimonError: our Python code, called by Java, raised it; the error is unchanged.
        InvalidInputError: Java threw any other exception.
    """
    try:
        yield
    except (Py4JJavaError, CapturedException) as error:
        if (ours := paimon_error_of(error)) is not None:
            raise ours from None
        raise InvalidInputError(f"{doing}: {root_message(thrown_by(error), str(error))}") from None


@contextmanager
def refusals(name: str = "") -> Iterator[None]:
    """Raise Spark's refusal of a statement without the plan in its message, which is not the user's statement.

    A procedure must not throw Spark's checked exception.

    Args:
        name: the name of the table that has none in the plan.

    Raises:
        InvalidInputError: Spark refuses the statement; the message has the position in its text.
    """
    try:
        yield
    except AnalysisException as error:
        message = str(error).split(";\n", 1)[0]
        raise InvalidInputError(message.replace("table ``", f"table `{name}`") if name else message) from None


def root_message(thrown: Throwable | None, default: str) -> str:
    """The first line of the root cause's message, without the plan that follows an analysis error."""
    while thrown is not None and (cause := thrown.getCause()) is not None:
        thrown = cause
    text = default if thrown is None else thrown.getMessage() or thrown.getClass().getSimpleName()
    return _RAISED.sub("", str(text).strip().split(";\n", 1)[0].split("\n", 1)[0].strip())


def causes(thrown: Throwable | None) -> Iterator[Throwable]:
    """A Java exception and its causes, outermost first."""
    while thrown is not None:
        yield thrown
        thrown = thrown.getCause()


def _identity(exception: Throwable) -> tuple[int, str]:
    """The identity of a Java exception: hash, and message against collisions of hashes."""
    system = JavaClass("java.lang.System", getattr(exception, "_gateway_client"))  # noqa: B009 - Py4J's, not Java's
    return int(system.identityHashCode(exception)), str(exception.getMessage())


def _of_worker(exception: Throwable) -> PaimonError | None:
    """The error that a Python worker's exception reports, by its message."""
    if str(exception.getClass().getName()) != _WORKER_EXCEPTION:
        return None
    _, package, rest = str(exception.getMessage()).partition(_PACKAGE)
    name, _, message = rest.partition(": ")
    kind = next((k for k in _classes() if f"{k.__module__}.{k.__qualname__}" == package + name), None)
    if kind is None:
        return None
    error = kind.__new__(kind)
    error.message, error.remedy = (message.rpartition(_STATE)[0] or message).strip(), None
    error.args = (error.message,)
    for parameter in inspect.signature(kind.__init__).parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            setattr(error, parameter.name, None)
    return error


def _classes(kind: type[PaimonError] = PaimonError) -> Iterator[type[PaimonError]]:
    """All loaded classes of errors."""
    yield kind
    for child in kind.__subclasses__():
        yield from _classes(child)
