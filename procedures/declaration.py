"""Declaration of the arguments and results of procedures as records (see `format.schema.records`).

The fields determine signature, binding of calls, result columns, DESCRIBE PROCEDURE, completion and the reference page.
Arguments are made by `required` and `optional`, result columns by `column` and `detail`.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any

from paimon_sql.format.schema.records import Int, Long, StringMap, column, columns_of
from paimon_sql.format.schema.types import DataField, DataType

__all__ = ["Int", "Long", "StringMap", "column", "detail", "optional", "required"]
"""The words of a declaration."""


@dataclass(frozen=True)
class Argument:
    """An argument of a procedure; None if it is omitted, unless it is ``required``."""

    name: str
    type: DataType
    meaning: str
    required: bool = False


def required(meaning: str) -> Any:
    """Declare a required argument."""
    return column(meaning)


def optional(meaning: str) -> Any:
    """Declare an optional argument; None by default."""
    return column(meaning, default=None)


def detail(meaning: str) -> Any:
    """Declare a result column that Apache Paimon's connector does not have."""
    return column(meaning, default=None)


def arguments_of(record: type) -> tuple[Argument, ...]:
    """The declared arguments, in order."""
    return tuple(
        Argument(c.name, c.type, c.description or "", f.default is MISSING)
        for c, f in zip(columns_of(record, nullable=True), fields(record), strict=True)
    )


def results_of(record: type) -> tuple[tuple[DataField, ...], tuple[DataField, ...]]:
    """The declared result columns: those of Apache Paimon's connector, which are nullable by default, and details."""
    columns, connector = columns_of(record, nullable=True), sum(f.default is MISSING for f in fields(record))
    return columns[:connector], columns[connector:]
