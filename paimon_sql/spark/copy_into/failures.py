"""What Spark and Hadoop throw while rows are copied, as one error of ours.

A statement that a CALL carries may not throw Spark's checked exceptions, and what a task has thrown stands below the
exceptions of its job.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from paimon_sql.errors import InvalidInputError
from paimon_sql.spark.jvm.errors import error_behind

_RAISED = re.compile(r"^\[USER_RAISED_EXCEPTION\] | SQLSTATE: \w{5}$")


@contextmanager
def one_error(doing: str) -> Iterator[None]:
    """Raise the cause of a failure inside as one error of ours.

    Args:
        doing: what fails, as the beginning of a sentence.

    Raises:
        PaimonError: Python code of ours behind Java raised it; it keeps its class, its message and its data.
        InvalidInputError: Java has thrown anything else.
    """
    try:
        yield
    except (Py4JJavaError, CapturedException) as error:
        if (ours := error_behind(error)) is not None:
            raise ours from None
        thrown = error.java_exception if isinstance(error, Py4JJavaError) else error._origin
        raise InvalidInputError(f"{doing}: {_message(thrown, str(error))}") from None


def _message(thrown: Any, otherwise: str) -> str:
    """The first line of the message of the first cause; a plan that stands below an analysis error is left out."""
    while thrown is not None and thrown.getCause() is not None:
        thrown = thrown.getCause()
    text = otherwise if thrown is None else thrown.getMessage() or thrown.getClass().getSimpleName()
    return _RAISED.sub("", str(text).strip().split(";\n", 1)[0].split("\n", 1)[0].strip())
