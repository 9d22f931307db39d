"""Errors that cross the JVM: the `PaimonError` that caused an exception of Spark or Py4J.

Java code calls Python, which may raise a `PaimonError`. The JVM rethrows it as a Java exception, perhaps wrapped in
others, and the Python code that called the JVM gets an exception of Spark or Py4J. `record_crossing` maps the Java
exception to the error; of an error of a Python worker only the message crosses.
"""

from __future__ import annotations

import copy
import inspect
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from paimon_sql.errors import PaimonError

_MOST = 128
_WORKER_EXCEPTION = "org.apache.spark.api.python.PythonException"
_PACKAGE = "paimon_sql."
_STATE = " SQLSTATE: "


class _CrossedErrors:
    """The latest errors that crossed, by their Java exceptions."""

    def __init__(self) -> None:
        self._errors: OrderedDict[tuple[int, str], PaimonError] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, exception: Any, error: PaimonError) -> None:
        # The copy has no traceback, which would keep its frames and their locals alive.
        stored = copy.copy(error)
        with self._lock:
            self._errors[_identity(exception)] = stored
            while len(self._errors) > _MOST:
                self._errors.popitem(last=False)

    def find(self, exception: Any) -> PaimonError | None:
        with self._lock:
            found = self._errors.get(_identity(exception))
        return None if found is None else copy.copy(found)


_crossed = _CrossedErrors()


def record_crossing(exception: Any, error: PaimonError) -> None:
    """Record the error that a Java exception carries."""
    _crossed.note(exception, error)


def paimon_error_of(raised: BaseException | None) -> PaimonError | None:
    """The `PaimonError` that an exception of Spark or Py4J carries or was caused by; None if there is none.

    An error raised in this process is complete. One raised by a Python worker has its class and its message, which
    includes the remedy; its other attributes are None.
    """
    for link in _causes(raised):
        if isinstance(link, PaimonError):
            return link
        if (found := _crossed.find(link) or _of_worker(link)) is not None:
            return found
    return None


def _causes(raised: BaseException | None) -> Iterator[Any]:
    """The `PaimonError` itself, or the chain of Java exceptions, outermost first."""
    while isinstance(raised, CapturedException) and raised._origin is None:
        raised = raised._cause  # PySpark has no Java exception for this one
    if isinstance(raised, PaimonError):
        yield raised
    thrown: Any = None
    if isinstance(raised, Py4JJavaError):
        thrown = raised.java_exception
    elif isinstance(raised, CapturedException):
        thrown = raised._origin
    while thrown is not None:
        yield thrown
        thrown = thrown.getCause()


def _identity(exception: Any) -> tuple[int, str]:
    """The identity of a Java exception: hash, and message against collisions of hashes."""
    system = JavaClass("java.lang.System", exception._gateway_client)
    return int(system.identityHashCode(exception)), str(exception.getMessage())


def _of_worker(exception: Any) -> PaimonError | None:
    """The error that a Python worker's exception reports, by its message."""
    if str(exception.getClass().getName()) != _WORKER_EXCEPTION:
        return None
    _, package, rest = str(exception.getMessage()).partition(_PACKAGE)
    name, _, message = rest.partition(": ")
    kind = _classes().get(package + name)
    if kind is None:
        return None
    error = kind.__new__(kind)
    error.message, error.remedy = (message.rpartition(_STATE)[0] or message).strip(), None
    error.args = (error.message,)
    for parameter in inspect.signature(kind.__init__).parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            setattr(error, parameter.name, None)
    return error


def _classes() -> dict[str, type[PaimonError]]:
    """All loaded subclasses of `PaimonError`, by full name."""
    found: dict[str, type[PaimonError]] = {}
    pending: list[type[PaimonError]] = [PaimonError]
    while pending:
        kind = pending.pop()
        found[f"{kind.__module__}.{kind.__qualname__}"] = kind
        pending += kind.__subclasses__()
    return found
