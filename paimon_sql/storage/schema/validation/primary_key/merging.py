"""Rules about merging: merge engines, sequence fields, sequence groups, row kinds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from paimon_sql.errors import PaimonError
from paimon_sql.format.options.table.merge_engine import (
    FIELD_AGG_FUNCTION,
    FIELD_SEQUENCE_GROUP,
    FIELDS_DEFAULT_AGG_FUNCTION,
    IGNORE_DELETE,
    MERGE_ENGINE,
    PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE,
    PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP,
    ROWKIND_FIELD,
    SEQUENCE_FIELD,
)
from paimon_sql.format.options.table.partition import RECORD_LEVEL_TIME_FIELD
from paimon_sql.format.options.values import comma_separated
from paimon_sql.format.schema import types as t
from paimon_sql.storage.merge.aggregates.type_groups import UNORDERED
from paimon_sql.storage.schema.validation.definition import Definition, conflict, quoted_list

_TIMES = (t.IntType, t.BigIntType, t.TimestampType, t.LocalZonedTimestampType)
_NEEDS_NO_GROUP = "last_non_null_value"


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
    if not table.sequence_fields:
        return
    if table.merge_engine == "first-row":
        yield conflict(SEQUENCE_FIELD, "is not for 'merge-engine' = 'first-row', where the first row written stays.")
    if table.is_cross_partition:
        yield conflict(
            SEQUENCE_FIELD,
            "is not for a table whose primary key lacks a partition column: a late row cannot be compared across"
            " partitions.",
            f"Add {quoted_list(table.schema.partition_keys)} to the primary key.",
        )


def sequence_groups(table: Definition) -> Iterator[PaimonError]:
    """A column belongs to at most one sequence group, and key columns to none."""
    if not table.has_key or table.merge_engine != "partial-update":
        return
    groups = [
        (FIELD_SEQUENCE_GROUP.for_name(*names), comma_separated(names[0]), comma_separated(members))
        for names, members in table.options.matching(FIELD_SEQUENCE_GROUP)
    ]
    owners: dict[str, str] = {}
    for key, ordering, members in groups:
        for name in (*ordering, *members):
            if name in table.schema.primary_keys:
                yield conflict(key, f"names '{name}' of the primary key, which never changes.")
        for name in members:
            if name in owners:
                yield conflict(key, f"names the column '{name}', which '{owners[name]}' names too.")
            owners.setdefault(name, key)
        for name in ordering:
            if name in table.columns and isinstance(table.columns[name].type, UNORDERED):
                yield conflict(key, f"orders by '{name}' of type {table.columns[name].type.sql()}, which has no order.")
    yield from _functions_in_groups(table, set(owners), {n for _, ordering, _ in groups for n in ordering})
    yield from _removals(table, {n for _, ordering, _ in groups for n in ordering})


def first_row(table: Definition) -> Iterator[PaimonError]:
    """The merge engine first-row needs the changelog producer lookup, if any."""
    if table.merge_engine == "first-row" and table.producer not in ("none", "lookup"):
        yield conflict(
            "changelog-producer",
            f"cannot be '{table.producer}' for '{MERGE_ENGINE.key}' = 'first-row'.",
            "Use 'none' or 'lookup'.",
        )


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


def _functions_in_groups(table: Definition, members: set[str], ordering: set[str]) -> Iterator[PaimonError]:
    default = table.options.get(FIELDS_DEFAULT_AGG_FUNCTION)
    for name in table.columns:
        own = table.options.get(FIELD_AGG_FUNCTION, name)
        outside = name not in members and name not in ordering and name not in table.schema.primary_keys
        if outside and (own or default) not in (None, _NEEDS_NO_GROUP):
            key = FIELD_AGG_FUNCTION.for_name(name) if own else FIELDS_DEFAULT_AGG_FUNCTION.key
            yield conflict(
                key,
                f"needs a sequence group for column '{name}': a partial update knows no order without one.",
                f"Set 'fields.<sequence columns>.sequence-group' = '{name}'.",
            )


def _removals(table: Definition, ordering: set[str]) -> Iterator[PaimonError]:
    on_delete = table.is_on(PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE)
    groups = table.names_of(PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP)
    ignored = table.options.key_of(IGNORE_DELETE) if table.is_on(IGNORE_DELETE) else None
    for option, used in (
        (PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE, on_delete),
        (PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP, bool(groups)),
    ):
        if used and ignored:
            yield conflict(option, f"cannot be set where '{ignored}' is true.", "Leave one of them out.")
    if on_delete and ordering:
        yield conflict(
            PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE,
            "cannot be true for a table with sequence groups.",
            f"Use '{PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP.key}'.",
        )
    for name in groups:
        if name not in ordering:
            yield conflict(
                PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP, f"names '{name}', which orders no sequence group."
            )
