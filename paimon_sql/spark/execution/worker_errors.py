"""Errors of ours in Python workers: the driver gets them as themselves, the user as a message without a traceback."""

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
"""What PySpark looks for when it tells the JVM of a worker's error; the worker ends after that."""


@contextmanager
def one_message() -> Iterator[None]:
    """Let an error of ours inside be told without a traceback; all others keep theirs."""
    try:
        yield
    except PaimonError:
        os.environ[_HIDE_TRACEBACK] = "1"
        raise


@dataclass(frozen=True)
class Failure:
    """An error of ours as a worker's answer, so that the job ends and the driver can clean up behind it."""

    error: PaimonError


def answering(function: Callable[[T], R]) -> Callable[[T], R | Failure]:
    """The function, whose errors of ours are answers."""

    def answer(task: T) -> R | Failure:
        try:
            return function(task)
        except PaimonError as error:
            return Failure(error)

    return answer


def answered(answers: Sequence[R | Failure]) -> Iterator[R]:
    """What was answered, and behind it the first failure as the error that the worker raised."""
    yield from (answer for answer in answers if not isinstance(answer, Failure))
    failure = next((answer for answer in answers if isinstance(answer, Failure)), None)
    if failure is not None:
        raise failure.error
