"""Conversion of Spark's and Hadoop's exceptions to one error of ours.

A carried statement must not throw Spark's checked exceptions, and the exception of a task is a cause of its job's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from paimon_sql.errors import InvalidInputError
from paimon_sql.spark.jvm.errors import paimon_error_of

_RAISED = re.compile(r"^\[USER_RAISED_EXCEPTION\] | SQLSTATE: \w{5}$")


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
        thrown = error.java_exception if isinstance(error, Py4JJavaError) else error._origin
        raise InvalidInputError(f"{doing}: {_message(thrown, str(error))}") from None


def _message(thrown: Any, default: str) -> str:
    """The first line of the root cause's message, without the plan that follows an analysis error."""
    while thrown is not None and thrown.getCause() is not None:
        thrown = thrown.getCause()
    text = default if thrown is None else thrown.getMessage() or thrown.getClass().getSimpleName()
    return _RAISED.sub("", str(text).strip().split(";\n", 1)[0].split("\n", 1)[0].strip())
