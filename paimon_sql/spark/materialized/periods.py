"""Partitions of points in time, by the patterns ``partition.fields.<column>.date-formatter``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.options.table.materialized_table import PARTITION_FIELDS_DATE_FORMATTER
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import CharType, VarCharType
from paimon_sql.spark.copy_into.failures import one_error
from paimon_sql.spark.jvm.gateway import Jvm

_TIME = "java.time"
_QUOTED = re.compile(r"'[^']*'")
_PERIODS = ((set("sSnNA"), 1_000), (set("m"), 60_000), (set("HhkKa"), 3_600_000))
_DAY = 86_400_000
_MAX_STEPS = 10_000


class Periods:
    """The partitions of points in time.

    Args:
        jvm: the JVM, which evaluates the patterns.
        schema: the table's schema.
        formatters: the pattern of each column.
        zone: the id of the session's time zone.

    Raises:
        InvalidOptionError: a column is not a partition column of strings.
        InvalidInputError: a pattern is invalid.
    """

    def __init__(self, jvm: Jvm, schema: TableSchema, formatters: Mapping[str, str], zone: str) -> None:
        self._jvm = jvm
        self._zone = jvm.cls(f"{_TIME}.ZoneId").of(zone)
        self._patterns = {}
        for column, pattern in formatters.items():
            key = PARTITION_FIELDS_DATE_FORMATTER.for_name(column)
            if column not in schema.partition_keys or not isinstance(schema.field(column).type, CharType | VarCharType):
                raise InvalidOptionError(
                    f"The option '{key}' goes with a partition column of texts, and {column} is none.", key=key
                )
            with one_error(f"The option '{key}' cannot be '{pattern}'"):
                self._patterns[column] = jvm.cls(f"{_TIME}.format.DateTimeFormatter").ofPattern(pattern)
        letters = set("".join(_QUOTED.sub("", pattern) for pattern in formatters.values()))
        length = next((millis for signs, millis in _PERIODS if letters & signs), _DAY)
        self._step = length // 2  # so that a change of daylight saving time cannot skip a period

    def between(self, start: int, end: int) -> list[dict[str, str]] | None:
        """The partition specs from one time to another, both included; None if there are too many.

        Args:
            start: milliseconds since 1970.
            end: milliseconds since 1970.
        """
        if (end - start) // self._step > _MAX_STEPS:
            return None
        times = [*range(start, end, self._step), end]
        found = {tuple(self._at(time).items()): None for time in times}
        return [dict(items) for items in found]

    def _at(self, millis: int) -> dict[str, str]:
        moment = self._jvm.cls(f"{_TIME}.Instant").ofEpochMilli(self._jvm.new("java.lang.Long", str(millis)))
        clock = moment.atZone(self._zone)
        return {column: str(clock.format(pattern)) for column, pattern in self._patterns.items()}
