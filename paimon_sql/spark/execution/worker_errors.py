"""Errors in Python workers: the driver gets the `PaimonError` itself, the user its message without a traceback."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from paimon_sql.errors import PaimonError

T = TypeVar("T")
R = TypeVar("R")

_HIDE_TRACEBACK = "SPARK_HIDE_TRACEBACK"
"""PySpark checks this variable when it reports a worker's error to the JVM; the worker ends after that."""


@contextmanager
def hide_traceback() -> Iterator[None]:
    """Report a `PaimonError` of the block without a traceback, any other error with it."""
    try:
        yield
    except PaimonError:
        os.environ[_HIDE_TRACEBACK] = "1"
        raise


@dataclass(frozen=True)
class Failure:
    """A worker's answer that carries a `PaimonError`, so that the job succeeds and the driver can clean up after it."""

    error: PaimonError


def catching(function: Callable[[T], R]) -> Callable[[T], R | Failure]:
    """The function, with each `PaimonError` returned as a `Failure`."""

    def answer(task: T) -> R | Failure:
        try:
            return function(task)
        except PaimonError as error:
            return Failure(error)

    return answer


def results(answers: Sequence[R | Failure]) -> Iterator[R]:
    """Iterate over the successful answers, then raise the error of the first failure, if any."""
    yield from (answer for answer in answers if not isinstance(answer, Failure))
    failure = next((answer for answer in answers if isinstance(answer, Failure)), None)
    if failure is not None:
        raise failure.error
