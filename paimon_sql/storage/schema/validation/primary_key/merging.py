"""Rules about merging: merge engines, sequence fields, row kinds, record times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from paimon_sql.errors import PaimonError
from paimon_sql.format.options.table.merge_engine import (
    FIELD_AGG_FUNCTION,
    ROWKIND_FIELD,
    SEQUENCE_FIELD,
)
from paimon_sql.format.options.table.partition import RECORD_LEVEL_TIME_FIELD
from paimon_sql.format.schema import types as t
from paimon_sql.storage.merge.aggregates.type_groups import UNORDERED
from paimon_sql.storage.merge.registry import engine_of
from paimon_sql.storage.metadata.definition import Definition, conflict, quoted_list

_TIMES = (t.IntType, t.BigIntType, t.TimestampType, t.LocalZonedTimestampType)


def sequence_fields(table: Definition) -> Iterator[PaimonError]:
    """Sequence fields are comparable, have no aggregate function, and are not for cross-partition keys."""
    for name, times in Counter(table.sequence_fields).items():
        if times > 1:
            yield conflict(SEQUENCE_FIELD, f"names the column '{name}' twice.")
        if table.options.get(FIELD_AGG_FUNCTION, name) is not None:
            yield conflict(
                FIELD_AGG_FUNCTION.for_name(name), "is given for a sequence field, which takes the latest value."
            )
        if name in table.columns and isinstance(table.columns[name].type, UNORDERED):
            yield conflict(
                SEQUENCE_FIELD, f"names '{name}' of type {table.columns[name].type.sql()}, which has no order."
            )
    if table.sequence_fields and table.is_cross_partition:
        yield conflict(
            SEQUENCE_FIELD,
            "is not for a table whose primary key lacks a partition column: a late row cannot be compared across"
            " partitions.",
            f"Add {quoted_list(table.schema.partition_keys)} to the primary key.",
        )


def engine(table: Definition) -> Iterator[PaimonError]:
    """The merge engine's own rules hold."""
    yield from engine_of(table.options).problems(table)


def rowkind_field(table: Definition) -> Iterator[PaimonError]:
    """The row kind column is a string."""
    name = table.options.get(ROWKIND_FIELD)
    if name in table.columns and not isinstance(table.columns[name].type, t.CharType | t.VarCharType):
        yield conflict(
            ROWKIND_FIELD, f"names '{name}' of type {table.columns[name].type.sql()}.", "It must be a STRING."
        )


def record_time(table: Definition) -> Iterator[PaimonError]:
    """The record time column is a number or a timestamp."""
    name = table.options.get(RECORD_LEVEL_TIME_FIELD)
    if name in table.columns and not isinstance(table.columns[name].type, _TIMES):
        yield conflict(
            RECORD_LEVEL_TIME_FIELD,
            f"names '{name}' of type {table.columns[name].type.sql()}.",
            "It must be INT, BIGINT or a timestamp.",
        )
