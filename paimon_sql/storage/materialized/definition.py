"""What makes a table a materialized one: its query, its freshness, how and whether it is refreshed.

All of it stands among the table's options, as Flink's catalog keeps it, so that Flink reads ours and we read Flink's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.materialized_table import (
    MATERIALIZED_TABLE_DEFINITION_QUERY,
    MATERIALIZED_TABLE_INTERVAL_FRESHNESS,
    MATERIALIZED_TABLE_INTERVAL_FRESHNESS_TIME_UNIT,
    MATERIALIZED_TABLE_LOGICAL_REFRESH_MODE,
    MATERIALIZED_TABLE_REFRESH_HANDLER_BYTES,
    MATERIALIZED_TABLE_REFRESH_HANDLER_DESCRIPTION,
    MATERIALIZED_TABLE_REFRESH_MODE,
    MATERIALIZED_TABLE_REFRESH_STATUS,
    MATERIALIZED_TABLE_SETTING,
    PARTITION_FIELDS_DATE_FORMATTER,
)
from paimon_sql.format.options.table.table import TYPE
from paimon_sql.format.schema.schema import TableSchema

KIND = "materialized-table"
ACTIVATED, SUSPENDED = "ACTIVATED", "SUSPENDED"
CONTINUOUS, FULL, AUTOMATIC = "CONTINUOUS", "FULL", "AUTOMATIC"
Unit = Literal["SECOND", "MINUTE", "HOUR", "DAY"]
_UNITS: dict[str, timedelta] = {
    "SECOND": timedelta(seconds=1),
    "MINUTE": timedelta(minutes=1),
    "HOUR": timedelta(hours=1),
    "DAY": timedelta(days=1),
}
_THRESHOLD = timedelta(minutes=30)
"""Without a word on the mode, tables that may be this old or older are refreshed as a whole; as in Flink."""
_DEFAULTS: dict[str, tuple[int, Unit]] = {CONTINUOUS: (3, "MINUTE"), FULL: (1, "HOUR")}
_MOST = 10_000_000
"""More units than that are no freshness; it keeps times within what can be counted."""
_FORMATTERS = PARTITION_FIELDS_DATE_FORMATTER.for_name("\0").split("\0")
_SETTINGS = MATERIALIZED_TABLE_SETTING.for_name("")


@dataclass(frozen=True)
class Freshness:
    """How old the rows of a table may be."""

    number: int
    unit: Unit

    @property
    def length(self) -> timedelta:
        """As a length of time."""
        return self.number * _UNITS[self.unit]

    def __str__(self) -> str:
        return f"INTERVAL '{self.number}' {self.unit}"


@dataclass(frozen=True)
class Definition:
    """What a materialized table is made of.

    Attributes:
        query: the query, in which all names are whole.
        freshness: how old the rows may be.
        mode: CONTINUOUS or FULL.
        logical_mode: the same as it was asked for; AUTOMATIC where the freshness decided.
        status: whether it is refreshed when it is due; SUSPENDED if not.
        settings: Spark's settings under which the query is worked out.
        handler: which of Flink's jobs keeps it up to date; None if none does.
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
        """Whether it is left alone."""
        return self.status == SUSPENDED

    @property
    def digest(self) -> str:
        """What tells this query, under its settings, from others."""
        told = "\0".join([self.query, *(f"{k}={v}" for k, v in sorted(self.settings.items()))])
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def options(self) -> dict[str, str]:
        """The options that keep it, without those of Flink's job."""
        return {
            TYPE.key: KIND,
            MATERIALIZED_TABLE_DEFINITION_QUERY.key: self.query,
            MATERIALIZED_TABLE_INTERVAL_FRESHNESS.key: str(self.freshness.number),
            MATERIALIZED_TABLE_INTERVAL_FRESHNESS_TIME_UNIT.key: self.freshness.unit,
            MATERIALIZED_TABLE_LOGICAL_REFRESH_MODE.key: self.logical_mode,
            MATERIALIZED_TABLE_REFRESH_MODE.key: self.mode,
            MATERIALIZED_TABLE_REFRESH_STATUS.key: self.status,
            **{MATERIALIZED_TABLE_SETTING.for_name(k): v for k, v in self.settings.items()},
        }


def asked_definition(
    query: str, freshness: Freshness | None, mode: str | None, settings: Mapping[str, str] | None = None
) -> Definition:
    """A definition as a statement asks for it.

    Without a mode the freshness decides; without either the table is CONTINUOUS and 3 minutes old at most.
    """
    number, unit = _DEFAULTS[mode or CONTINUOUS]
    fresh = freshness or Freshness(number, unit)
    physical = mode or (CONTINUOUS if fresh.length < _THRESHOLD else FULL)
    return Definition(query, fresh, physical, mode or AUTOMATIC, settings=settings or {})


def is_materialized(schema: TableSchema) -> bool:
    """Whether a table is a materialized one."""
    return schema.options.get(TYPE.key, "").strip().lower() == KIND


def definition_of(schema: TableSchema, name: str) -> Definition:
    """What a table's options say.

    Args:
        schema: the table's newest schema.
        name: its name, for messages.

    Raises:
        InvalidInputError: it is no materialized table, or its definition lacks what it needs.
    """
    if not is_materialized(schema):
        raise InvalidInputError(f"{name} is no materialized table.")
    options = TableOptions(schema.options)
    query = options.get(MATERIALIZED_TABLE_DEFINITION_QUERY)
    if not query or not query.strip():
        raise InvalidInputError(
            f"{name} has no query: '{MATERIALIZED_TABLE_DEFINITION_QUERY.key}' is not set.",
            remedy="DROP MATERIALIZED TABLE and create it anew.",
        )
    unit = options.get(MATERIALIZED_TABLE_INTERVAL_FRESHNESS_TIME_UNIT) or "MINUTE"
    mode = options.get(MATERIALIZED_TABLE_REFRESH_MODE) or FULL
    handler = options.get(MATERIALIZED_TABLE_REFRESH_HANDLER_BYTES)
    told = options.get(MATERIALIZED_TABLE_REFRESH_HANDLER_DESCRIPTION)
    return Definition(
        query=query,
        freshness=read_freshness(options.get(MATERIALIZED_TABLE_INTERVAL_FRESHNESS) or "", unit),  # type: ignore[arg-type]
        mode=FULL if mode == AUTOMATIC else mode,
        logical_mode=options.get(MATERIALIZED_TABLE_LOGICAL_REFRESH_MODE) or mode,
        status=options.get(MATERIALIZED_TABLE_REFRESH_STATUS) or ACTIVATED,
        settings={k.removeprefix(_SETTINGS): v for k, v in schema.options.items() if k.startswith(_SETTINGS)},
        handler=(told or "a job of Flink's") if handler and handler.strip() else None,
    )


def read_freshness(number: str, unit: Unit) -> Freshness:
    """A freshness of so many units.

    Raises:
        InvalidInputError: the number is no positive whole one, or far too big.
    """
    text = number.strip()
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) <= _MOST:
        raise InvalidInputError(
            f"FRESHNESS cannot be '{number}' of {unit}.", remedy="Write a whole number: INTERVAL '3' MINUTE."
        )
    return Freshness(int(text), unit)


def date_formatters(schema: TableSchema) -> dict[str, str]:
    """The patterns of times by partition column, as ``partition.fields.<column>.date-formatter`` gives them."""
    begin, end = _FORMATTERS
    return {
        key[len(begin) : -len(end)]: value
        for key, value in schema.options.items()
        if key.startswith(begin) and key.endswith(end)
    }


def shown_options(schema: TableSchema) -> dict[str, str]:
    """The table's options without those that say what a materialized table is made of."""
    own = MATERIALIZED_TABLE_DEFINITION_QUERY.key.partition(".")[0] + "."
    return {k: v for k, v in schema.options.items() if k != TYPE.key and not k.startswith(own)}


def is_suspended(schema: TableSchema) -> bool:
    """Whether a materialized table is not refreshed for the time being."""
    return schema.options.get(MATERIALIZED_TABLE_REFRESH_STATUS.key, "").upper() == SUSPENDED
