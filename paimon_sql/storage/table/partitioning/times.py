"""The time of a partition by its values (Paimon: ``partition.timestamp-pattern`` and ``-formatter``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import Any

from paimon_sql.errors import InvalidInputError, InvalidOptionError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.partition import (
    PARTITION_TIMESTAMP_FORMAT_STRICT,
    PARTITION_TIMESTAMP_FORMATTER,
    PARTITION_TIMESTAMP_PATTERN,
)
from paimon_sql.format.rows.binary_field import epoch_days, epoch_nanos
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.text.time_fields import NANOS_A_DAY
from paimon_sql.format.text.time_patterns import TimePattern, parse_plain_time
from paimon_sql.format.text.values import cast_text, java_text
from paimon_sql.format.text.wall_clock import wall_clock_millis

_NANOS_A_MILLI = 1_000_000
_SHOWN_AS_CAST = t.DateType | t.TimeType | t.TimestampType | t.LocalZonedTimestampType


class PartitionTimes:
    """Extracts the time of partitions.

    A single date or timestamp is the time itself. Strings and numbers are combined by the pattern and parsed by the
    formatter, or as ``2024-01-31`` or ``2024-01-31 08:00:00`` without one.

    Args:
        fields: the partition columns.
        options: the table's options.
        zone: the time zone of a TIMESTAMP_LTZ; None is this machine's.

    Raises:
        InvalidOptionError: the formatter is invalid.
    """

    def __init__(self, fields: Sequence[t.DataField], options: TableOptions, zone: tzinfo | None = None) -> None:
        self._types = {f.name: f.type for f in fields}
        self._zone = zone
        given: str | None = options.get(PARTITION_TIMESTAMP_PATTERN)
        names = sorted(map(re.escape, self._types), key=len, reverse=True)
        pieces = re.split(rf"\$({'|'.join(names)})", given) if given is not None else ["", fields[0].name, ""]
        self._literals, self._names = pieces[::2], pieces[1::2]
        formatter: str | None = options.get(PARTITION_TIMESTAMP_FORMATTER)
        try:
            self._parse = parse_plain_time if formatter is None else TimePattern(formatter).parse
        except InvalidInputError as error:
            key = PARTITION_TIMESTAMP_FORMATTER.key
            raise InvalidOptionError(f"The option '{key}': {error.message}", key=key, remedy=error.remedy) from error

    def of(self, values: Mapping[str, Any]) -> int | None:
        """Return the time of a partition.

        Args:
            values: the values by column.

        Returns:
            Nanoseconds since 1970-01-01 00:00 of the local time; None if the values have no valid time, such as null.
        """
        chosen = [values[name] for name in self._names]
        if any(value is None for value in chosen):
            return None
        if len(chosen) == 1 and not any(self._literals):
            time = self._own_time(chosen[0], self._types[self._names[0]])
            if time is not None:
                return time
        shown = [self._text(value, self._types[name]) for value, name in zip(chosen, self._names, strict=True)]
        return self._parse("".join(prefix + value for prefix, value in zip(self._literals, [*shown, ""], strict=True)))

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


class StrictPartitions:
    """Validates that partitions have a time, for tables with ``partition.timestamp-format.strict``.

    Args:
        schema: the table's schema.
    """

    def __init__(self, schema: TableSchema) -> None:
        self._schema = schema
        self._fields = schema.partition_fields
        self._times = PartitionTimes(self._fields, TableOptions(schema.options))
        self._codec = RowCodec([f.type for f in self._fields])
        self._valid: set[bytes] = set()

    @classmethod
    def of(cls, schema: TableSchema) -> StrictPartitions | None:
        """Create the validation of a table; None if it accepts all partitions."""
        options = TableOptions(schema.options)
        declared = options.has(PARTITION_TIMESTAMP_FORMATTER) or options.has(PARTITION_TIMESTAMP_PATTERN)
        strict = schema.partition_keys and declared and options.get(PARTITION_TIMESTAMP_FORMAT_STRICT)
        return cls(schema) if strict else None

    def check(self, partitions: Iterable[bytes]) -> None:
        """Raise `InvalidInputError` if a serialized partition has no valid time."""
        for partition in set(partitions) - self._valid:
            values = dict(zip((f.name for f in self._fields), self._codec.decode(partition), strict=True))
            if self._times.of(values) is None:
                raise InvalidInputError(
                    f"The partition {PartitionPaths.of(self._schema).name(partition)} tells no time as"
                    f" '{PARTITION_TIMESTAMP_FORMATTER.key}' and '{PARTITION_TIMESTAMP_PATTERN.key}' want it.",
                    remedy=f"Mend the values, or set '{PARTITION_TIMESTAMP_FORMAT_STRICT.key}' to 'false'.",
                )
            self._valid.add(partition)
