"""Definition of a materialized table: query, freshness, refresh mode and status.

It is stored in the table's options under the keys of Flink's catalog, so that Flink and this project read each other's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table import materialized_table as keys
from paimon_sql.format.options.table.table import TYPE
from paimon_sql.format.schema.schema import TableSchema

KIND = "materialized-table"
ACTIVATED, SUSPENDED = "ACTIVATED", "SUSPENDED"
CONTINUOUS, FULL, AUTOMATIC = "CONTINUOUS", "FULL", "AUTOMATIC"
Unit = Literal["SECOND", "MINUTE", "HOUR", "DAY"]
_THRESHOLD = timedelta(minutes=30)
"""Without a refresh mode, tables with this freshness or longer are refreshed fully, as in Flink."""
_DEFAULTS: dict[str, tuple[int, Unit]] = {CONTINUOUS: (3, "MINUTE"), FULL: (1, "HOUR")}
_MAX_NUMBER = 10_000_000
"""Upper bound of a freshness, which keeps `timedelta` from overflowing."""
_FORMATTERS = keys.PARTITION_FIELDS_DATE_FORMATTER.for_name("\0").split("\0")
_SETTINGS = keys.MATERIALIZED_TABLE_SETTING.for_name("")


@dataclass(frozen=True)
class Freshness:
    """The max age of a table's rows."""

    number: int
    unit: Unit

    @property
    def length(self) -> timedelta:
        """The freshness as a duration."""
        return timedelta(**{f"{self.unit.lower()}s": self.number})

    def __str__(self) -> str:
        return f"INTERVAL '{self.number}' {self.unit}"


@dataclass(frozen=True)
class Definition:
    """The definition of a materialized table.

    Attributes:
        query: the query, with fully qualified names.
        freshness: the max age of the rows.
        mode: CONTINUOUS or FULL.
        logical_mode: the requested mode; AUTOMATIC if it is derived from the freshness.
        status: ACTIVATED or SUSPENDED: whether it is refreshed when due.
        settings: Spark settings for the query.
        handler: the Flink job that refreshes it; None without one.
    """

    query: str
    freshness: Freshness
    mode: str
    logical_mode: str
    status: str = ACTIVATED
    settings: Mapping[str, str] = field(default_factory=dict)
    handler: str | None = None

    @property
    def is_suspended(self) -> bool:
        """Whether it is not refreshed."""
        return self.status == SUSPENDED

    @property
    def digest(self) -> str:
        """The hash of query and settings."""
        text = "\0".join([self.query, *(f"{k}={v}" for k, v in sorted(self.settings.items()))])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def options(self) -> dict[str, str]:
        """Return the table options of the definition, without those of a Flink job."""
        return {
            TYPE.key: KIND,
            keys.MATERIALIZED_TABLE_DEFINITION_QUERY.key: self.query,
            keys.MATERIALIZED_TABLE_INTERVAL_FRESHNESS.key: str(self.freshness.number),
            keys.MATERIALIZED_TABLE_INTERVAL_FRESHNESS_TIME_UNIT.key: self.freshness.unit,
            keys.MATERIALIZED_TABLE_LOGICAL_REFRESH_MODE.key: self.logical_mode,
            keys.MATERIALIZED_TABLE_REFRESH_MODE.key: self.mode,
            keys.MATERIALIZED_TABLE_REFRESH_STATUS.key: self.status,
            **{keys.MATERIALIZED_TABLE_SETTING.for_name(k): v for k, v in self.settings.items()},
        }


def new_definition(
    query: str, freshness: Freshness | None, mode: str | None, settings: Mapping[str, str] | None = None
) -> Definition:
    """Return the definition for the clauses of a statement.

    The default mode depends on the freshness; the default of both is CONTINUOUS with 3 minutes.
    """
    number, unit = _DEFAULTS[mode or CONTINUOUS]
    fresh = freshness or Freshness(number, unit)
    physical = mode or (CONTINUOUS if fresh.length < _THRESHOLD else FULL)
    return Definition(query, fresh, physical, mode or AUTOMATIC, settings=settings or {})


def is_materialized(schema: TableSchema) -> bool:
    """Whether a table is a materialized table."""
    return schema.options.get(TYPE.key, "").strip().lower() == KIND


def definition_of(schema: TableSchema, name: str) -> Definition:
    """Read the definition from the table's options.

    Args:
        schema: the table's newest schema.
        name: its name, for messages.

    Raises:
        InvalidInputError: it is not a materialized table, or the definition is incomplete.
    """
    if not is_materialized(schema):
        raise InvalidInputError(f"{name} is not a materialized table.")
    options = TableOptions(schema.options)
    query = options.get(keys.MATERIALIZED_TABLE_DEFINITION_QUERY)
    if not query or not query.strip():
        raise InvalidInputError(
            f"{name} has no query: '{keys.MATERIALIZED_TABLE_DEFINITION_QUERY.key}' is not set.",
            remedy="DROP MATERIALIZED TABLE and create it again.",
        )
    unit = options.get(keys.MATERIALIZED_TABLE_INTERVAL_FRESHNESS_TIME_UNIT) or "MINUTE"
    mode = options.get(keys.MATERIALIZED_TABLE_REFRESH_MODE) or FULL
    handler = options.get(keys.MATERIALIZED_TABLE_REFRESH_HANDLER_BYTES)
    description = options.get(keys.MATERIALIZED_TABLE_REFRESH_HANDLER_DESCRIPTION)
    return Definition(
        query=query,
        freshness=read_freshness(options.get(keys.MATERIALIZED_TABLE_INTERVAL_FRESHNESS) or "", unit),  # type: ignore[arg-type]
        mode=FULL if mode == AUTOMATIC else mode,
        logical_mode=options.get(keys.MATERIALIZED_TABLE_LOGICAL_REFRESH_MODE) or mode,
        status=options.get(keys.MATERIALIZED_TABLE_REFRESH_STATUS) or ACTIVATED,
        settings={k.removeprefix(_SETTINGS): v for k, v in schema.options.items() if k.startswith(_SETTINGS)},
        handler=(description or "a Flink job") if handler and handler.strip() else None,
    )


def read_freshness(number: str, unit: Unit) -> Freshness:
    """Parse a freshness.

    Raises:
        InvalidInputError: the number is not a positive integer, or is too large.
    """
    text = number.strip()
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= _MAX_NUMBER):
        raise InvalidInputError(
            f"FRESHNESS cannot be '{number}' of {unit}.", remedy="Use an integer: INTERVAL '3' MINUTE."
        )
    return Freshness(int(text), unit)


def date_formatters(schema: TableSchema) -> dict[str, str]:
    """Return the date formatters by partition column (``partition.fields.<column>.date-formatter``)."""
    begin, end = _FORMATTERS
    return {
        key[len(begin) : -len(end)]: value
        for key, value in schema.options.items()
        if key.startswith(begin) and key.endswith(end)
    }


def shown_options(schema: TableSchema) -> dict[str, str]:
    """Return the table's options without those of the definition."""
    prefix = keys.MATERIALIZED_TABLE_DEFINITION_QUERY.key.partition(".")[0] + "."
    return {k: v for k, v in schema.options.items() if k != TYPE.key and not k.startswith(prefix)}


def is_suspended(schema: TableSchema) -> bool:
    """Whether refreshes of a materialized table are suspended."""
    return schema.options.get(keys.MATERIALIZED_TABLE_REFRESH_STATUS.key, "").upper() == SUSPENDED
