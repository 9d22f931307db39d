"""Our errors on the far side of the JVM: found again behind the Java exceptions that carry their messages.

Java code calls Python, which may raise an error of ours; the JVM throws it on as a Java exception, perhaps wrapped in
others, and Python code that had asked the JVM in the first place gets one of Spark's or Py4J's. The Java object tells
which error it stands for: what crosses is noted here. Errors of Python workers have but their text.
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


class _Crossed:
    """The errors that crossed last, by the Java exceptions that carry them."""

    def __init__(self) -> None:
        self._errors: OrderedDict[tuple[int, str], PaimonError] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, exception: Any, error: PaimonError) -> None:
        # The copy has no traceback, whose frames would be kept with all that they hold.
        kept = copy.copy(error)
        with self._lock:
            self._errors[_identity(exception)] = kept
            while len(self._errors) > _MOST:
                self._errors.popitem(last=False)

    def find(self, exception: Any) -> PaimonError | None:
        with self._lock:
            found = self._errors.get(_identity(exception))
        return None if found is None else copy.copy(found)


_crossed = _Crossed()


def note_crossing(exception: Any, error: PaimonError) -> None:
    """Remember that a Java exception carries an error of ours."""
    _crossed.note(exception, error)


def error_behind(raised: BaseException | None) -> PaimonError | None:
    """The error of ours that an exception of Spark or Py4J stands for, or was caused by; None if there is none.

    An error that was raised in this process has all its data; one that a Python worker raised while it read rows
    has its class and its message, with the remedy in it, and its other data are None.
    """
    for link in _causes(raised):
        if isinstance(link, PaimonError):
            return link
        if (found := _crossed.find(link) or _of_worker(link)) is not None:
            return found
    return None


def _causes(raised: BaseException | None) -> Iterator[Any]:
    """Our error itself, or the Java exceptions behind an exception, outermost first."""
    while isinstance(raised, CapturedException) and raised._origin is None:
        raised = raised._cause  # PySpark knows no Java exception of this one
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
    """What tells a Java object from others; the message guards against an object that has another's hash."""
    system = JavaClass("java.lang.System", exception._gateway_client)
    return int(system.identityHashCode(exception)), str(exception.getMessage())


def _of_worker(exception: Any) -> PaimonError | None:
    """The error that a Python worker's exception tells of."""
    if str(exception.getClass().getName()) != _WORKER_EXCEPTION:
        return None
    _, package, told = str(exception.getMessage()).partition(_PACKAGE)
    name, _, message = told.partition(": ")
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
    """Every class of ours that is loaded, by its full name."""
    found: dict[str, type[PaimonError]] = {}
    waiting: list[type[PaimonError]] = [PaimonError]
    while waiting:
        kind = waiting.pop()
        found[f"{kind.__module__}.{kind.__qualname__}"] = kind
        waiting += kind.__subclasses__()
    return found
