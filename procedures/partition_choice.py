"""Partitions of a call: the arguments ``partitions`` and ``where``, of which at most one may be given."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timezone, tzinfo
from functools import cached_property

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.text.values import parse_text
from paimon_sql.storage.expressions.condition_text import ConditionParser
from paimon_sql.storage.expressions.predicates import And, Comparison, IsNull, Or, Predicate
from paimon_sql.storage.table.table import Table

PARTITIONS = "Partitions, as 'dt=x,h=1;dt=y,h=2'; all by default."
WHERE = "A condition on partition columns."
"""Meanings of the arguments of these names."""


def chosen_partitions(
    table: Table, partitions: str | None, where: str | None, zone: tzinfo | None = None
) -> Predicate | None:
    """The predicate of the chosen partitions; None for all.

    Args:
        table: the table.
        partitions: partition specs, separated by semicolons.
        where: a condition on partition columns.
        zone: the session's time zone, for TIMESTAMP_LTZ; None for UTC.

    Raises:
        InvalidInputError: both are given, one is malformed, or names a column that is not a partition column.
    """
    listed, condition = (partitions or "").strip(), (where or "").strip()
    if listed and condition:
        raise InvalidInputError("partitions and where cannot be used together.", remedy="Leave one of them out.")
    if (listed or condition) and not table.schema.partition_keys:
        raise InvalidInputError(f"{table.name} has no partitions.")
    values = _Values(table.schema, zone or timezone.utc)
    if listed:
        parts = [_partition(values, text) for text in listed.split(";") if text.strip()]
        return parts[0] if len(parts) == 1 else Or(tuple(parts))
    return values.condition(condition) if condition else None


def listed_partitions(table: Table, partitions: str | None) -> list[dict[str, str]] | None:
    """Parse partition specs, separated by semicolons; returns values as strings by column, None without any spec.

    Raises:
        InvalidInputError: a spec is malformed, or names a column that is not a partition column.
    """
    parts = [text for text in (partitions or "").split(";") if text.strip()]
    return [dict(_pairs(table.schema, text)) for text in parts] or None


@dataclass(frozen=True)
class _Values:
    """Parses values of partition columns, and conditions on them."""

    schema: TableSchema
    zone: tzinfo

    def of(self, name: str, text: str) -> object:
        """Parse a value of a partition spec; None for the default partition."""
        if text == PartitionPaths.of(self.schema).default_name:
            return None
        try:
            return parse_text(text, self.schema.field(name).type, self.zone)
        except (ValueError, InvalidInputError) as error:
            raise InvalidInputError(f"'{text}' is not a value of partition column {name}: {error}") from error

    @cached_property
    def _parser(self) -> ConditionParser:
        fields = [self.schema.field(name) for name in self.schema.partition_keys]
        return ConditionParser(fields, "partition column", self.zone)

    def equals(self, name: str, text: str) -> Predicate:
        """The predicate that a column has a value of a partition spec."""
        if text == PartitionPaths.of(self.schema).default_name:
            return IsNull(name)
        return Comparison(name, "=", self._parser.scalar(self.schema.field(name), text))

    def condition(self, text: str) -> Predicate:
        """The predicate of a condition in SQL."""
        return self._parser.parse(text)


def partition_directories(table: Table, partitions: str, zone: tzinfo | None = None) -> list[str]:
    """The directories of partitions relative to the table, without duplicates, in the given order.

    Args:
        table: the table.
        partitions: partition specs, separated by semicolons; trailing columns may be omitted.
        zone: as in `chosen_partitions`.

    Raises:
        InvalidInputError: a spec is malformed, or there is none.
    """
    schema = table.schema
    keys, paths, values = schema.partition_keys, PartitionPaths.of(schema), _Values(schema, zone or timezone.utc)
    directories: dict[str, None] = {}
    for text in (part for part in partitions.split(";") if part.strip()):
        spec = dict(_pairs(schema, text))
        given = list(keys[: len(spec)])
        if set(spec) != set(given):
            raise InvalidInputError(
                f"'{text.strip()}' is not a partition of {table.name}:"
                f" {', '.join(k for k in given if k not in spec)} is missing.",
                remedy=f"Specify the partition columns in their order: {', '.join(keys)}.",
            )
        known = [values.of(name, spec[name]) for name in given]
        path = paths.path([*known, *[None] * (len(keys) - len(known))])
        directories["/".join(path.split("/")[: len(known)])] = None
    if not directories:
        raise _no_partition(schema, f"'{partitions}' does not name a partition of {table.name}")
    return list(directories)


def _partition(values: _Values, text: str) -> Predicate:
    parts: list[Predicate] = [values.equals(name, value) for name, value in _pairs(values.schema, text)]
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _pairs(schema: TableSchema, text: str) -> list[tuple[str, str]]:
    """Parse a partition spec to columns and unquoted values."""
    found = []
    for pair in text.split(","):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or name not in schema.partition_keys:
            raise _no_partition(schema, f"'{pair.strip()}' is not a partition")
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
        found.append((name, value[1:-1] if quoted else value))
    return found


def _no_partition(schema: TableSchema, problem: str) -> InvalidInputError:
    keys = schema.partition_keys
    if not keys:
        return InvalidInputError(f"{problem}: the table is not partitioned.")
    return InvalidInputError(f"{problem}.", remedy=f"Write column=value; partition columns are {', '.join(keys)}.")
