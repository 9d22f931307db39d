"""The time that a partition stands for, as its values tell it (``partition.timestamp-pattern`` and ``-formatter``)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any

from paimon_sql.errors import InvalidInputError, InvalidOptionError
from paimon_sql.format import types as t
from paimon_sql.format.binary_field import epoch_days, epoch_nanos
from paimon_sql.format.data_file import wall_clock_millis
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.partition import PARTITION_TIMESTAMP_FORMATTER, PARTITION_TIMESTAMP_PATTERN
from paimon_sql.format.time_fields import NANOS_A_DAY
from paimon_sql.format.time_patterns import TimePattern, parse_plain_time
from paimon_sql.format.value_text import cast_text, java_text

_NANOS_A_MILLI = 1_000_000
_SHOWN_AS_CAST = t.DateType | t.TimeType | t.TimestampType | t.LocalZonedTimestampType


class PartitionTimes:
    """Reads the time of partitions.

    A single date or timestamp tells its time by itself. Text and numbers are put together by the pattern and read by
    the formatter, or as ``2024-01-31`` or ``2024-01-31 08:00:00`` without one.

    Args:
        fields: the partition columns.
        options: the table's options.
        zone: the zone in which a TIMESTAMP_LTZ is shown; None is this machine's.

    Raises:
        InvalidOptionError: the formatter is no pattern of a time.
    """

    def __init__(self, fields: Sequence[t.DataField], options: TableOptions, zone: tzinfo | None = None) -> None:
        self._types = {f.name: f.type for f in fields}
        self._zone = zone
        given: str | None = options.get(PARTITION_TIMESTAMP_PATTERN)
        names = sorted(map(re.escape, self._types), key=len, reverse=True)
        pieces = re.split(rf"\$({'|'.join(names)})", given) if given is not None else ["", fields[0].name, ""]
        self._texts, self._names = pieces[::2], pieces[1::2]
        formatter: str | None = options.get(PARTITION_TIMESTAMP_FORMATTER)
        try:
            self._parse = parse_plain_time if formatter is None else TimePattern(formatter).parse
        except InvalidInputError as error:
            key = PARTITION_TIMESTAMP_FORMATTER.key
            raise InvalidOptionError(f"The option '{key}': {error.message}", key=key, remedy=error.remedy) from error

    def of(self, values: Mapping[str, Any]) -> int | None:
        """The time that the values of a partition tell.

        Args:
            values: the values by column.

        Returns:
            Nanoseconds since 1970-01-01 00:00 on the wall clock; None if they tell none, as a null does not.
        """
        chosen = [values[name] for name in self._names]
        if any(value is None for value in chosen):
            return None
        if len(chosen) == 1 and not any(self._texts):
            time = self._own_time(chosen[0], self._types[self._names[0]])
            if time is not None:
                return time
        shown = [self._text(value, self._types[name]) for value, name in zip(chosen, self._names, strict=True)]
        return self._parse("".join(text + value for text, value in zip(self._texts, [*shown, ""], strict=True)))

    def _own_time(self, value: Any, data_type: t.DataType) -> int | None:
        if isinstance(data_type, t.DateType):
            return epoch_days(value) * NANOS_A_DAY
        if isinstance(data_type, t.TimestampType):
            return epoch_nanos(value, data_type.precision)
        if isinstance(data_type, t.LocalZonedTimestampType):
            nanos = epoch_nanos(value, data_type.precision)
            try:
                wall = wall_clock_millis(self._zone, lambda: nanos // 1_000_000_000)
            except (ValueError, OverflowError, OSError):
                return nanos
            return wall * _NANOS_A_MILLI + nanos % 1_000_000_000
        return None

    @staticmethod
    def _text(value: Any, data_type: t.DataType) -> str:
        return cast_text(value, data_type) if isinstance(data_type, _SHOWN_AS_CAST) else java_text(value, data_type)
