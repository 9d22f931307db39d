"""Problems: errors as the shell shows them."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Literal, NamedTuple

from paimon_sql.errors import PaimonError

Span = tuple[int, int]
"""Offsets of the first character and after the last one."""


class Missing(NamedTuple):
    """A table or database that does not exist; ``name`` is quoted by Spark."""

    kind: Literal["table", "database"]
    name: str


@dataclass(frozen=True)
class Problem:
    """An error as the shell shows it.

    Attributes:
        message: what is wrong.
        remedy: what to do about it, if the error has a separate remedy.
        code: Spark's error class and SQLSTATE.
        span: the part of the statement with the error.
        details: all information, with stack traces.
        missing: what does not exist.
    """

    message: str
    remedy: str | None = None
    code: str | None = None
    span: Span | None = None
    details: str = ""
    missing: Missing | None = None


def problem_of(error: PaimonError) -> Problem:
    """Describe an error that is about no place in a statement."""
    return Problem(error.message, error.remedy, details=stack(error))


def stack(error: BaseException) -> str:
    """The error with its stack trace."""
    return "".join(traceback.format_exception(error)).rstrip()
