"""Rules about aggregate functions: they exist and support their columns' types."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_sql.errors import PaimonError
from paimon_sql.format.options.table.merge_engine import (
    AGGREGATION_REMOVE_RECORD_ON_DELETE,
    FIELD_AGG_FUNCTION,
    FIELD_IGNORE_RETRACT,
    FIELD_NESTED_KEY,
    FIELD_NESTED_KEY_NULL_STRATEGY,
    FIELD_NESTED_SEQUENCE_FIELD,
    FIELD_SEQUENCE_GROUP,
    FIELD_TS_FIELD,
    FIELDS_DEFAULT_AGG_FUNCTION,
)
from paimon_sql.format.options.values import comma_separated
from paimon_sql.format.schema import types as t
from paimon_sql.storage.merge.aggregates.registry import FUNCTIONS
from paimon_sql.storage.schema.validation.definition import Definition, conflict, quoted_list

_NESTED = ("nested_update", "nested_partial_update")


def aggregate_functions(table: Definition) -> Iterator[PaimonError]:
    """Functions exist, support their column's type, and their options name existing nested fields."""
    if not table.has_key or table.merge_engine not in ("aggregation", "partial-update"):
        return
    excluded = {*table.schema.primary_keys, *table.sequence_fields}
    for names, _ in table.options.matching(FIELD_SEQUENCE_GROUP):
        excluded |= set(comma_separated(names[0]))
    default = table.options.get(FIELDS_DEFAULT_AGG_FUNCTION)
    for name, field in table.columns.items():
        own = table.options.get(FIELD_AGG_FUNCTION, name)
        function = own or default
        key = FIELD_AGG_FUNCTION.for_name(name) if own else FIELDS_DEFAULT_AGG_FUNCTION.key
        if function is None or (name in excluded and own is None):
            continue
        if function not in FUNCTIONS:
            yield conflict(
                key,
                f"names '{function}', which is no aggregate function.",
                f"There are {', '.join(sorted(FUNCTIONS))}.",
            )
            continue
        kind = FUNCTIONS[function]
        if name not in excluded and not kind.supports(field.type):
            yield conflict(
                key,
                f"names '{function}', which takes {kind.supported_types}, for column '{name}' of type"
                f" {field.type.sql()}.",
            )
        elif name not in excluded:
            yield from _nested_fields(table, field, function)


def retractions(table: Definition) -> Iterator[PaimonError]:
    """Retractions that delete a row cannot be ignored for a column."""
    if table.merge_engine == "aggregation" and table.is_on(AGGREGATION_REMOVE_RECORD_ON_DELETE):
        for names, ignored in table.options.matching(FIELD_IGNORE_RETRACT):
            if ignored:
                yield conflict(
                    FIELD_IGNORE_RETRACT.for_name(*names),
                    f"cannot be true where '{AGGREGATION_REMOVE_RECORD_ON_DELETE.key}' is.",
                    "Leave one of them out.",
                )


def _nested_fields(table: Definition, field: t.DataField, function: str) -> Iterator[PaimonError]:
    nested_key = table.names_of(FIELD_NESTED_KEY, field.name)
    if function == "nested_partial_update" and not nested_key:
        yield conflict(FIELD_NESTED_KEY.for_name(field.name), f"is needed by '{function}' of column '{field.name}'.")
    if function in _NESTED and isinstance(field.type, t.ArrayType) and isinstance(field.type.element, t.RowType):
        for option in (FIELD_NESTED_KEY, FIELD_NESTED_SEQUENCE_FIELD):
            yield from _check(option.for_name(field.name), table.names_of(option, field.name), field.type.element)
        for dependent in (FIELD_NESTED_SEQUENCE_FIELD, FIELD_NESTED_KEY_NULL_STRATEGY):
            if not nested_key and table.options.has(dependent, field.name):
                needed = FIELD_NESTED_KEY.for_name(field.name)
                yield conflict(dependent.for_name(field.name), f"needs '{needed}'.", f"Set '{needed}' too.")
    if function == "merge_map_with_keytime" and isinstance(field.type, t.MapType):
        row = field.type.value
        if isinstance(row, t.RowType):
            key = FIELD_TS_FIELD.for_name(field.name)
            named = table.names_of(FIELD_TS_FIELD, field.name) or (row.names[-1],)
            yield from _check(key, named, row)
            for member in row.fields:
                if member.name in named and not isinstance(member.type, t.CharType | t.VarCharType):
                    yield conflict(key, f"is '{member.name}' of type {member.type.sql()}.", "It must be a STRING.")


def _check(key: str, names: tuple[str, ...], row: t.RowType) -> Iterator[PaimonError]:
    for name in names:
        if name not in row.names:
            yield conflict(
                key, f"names '{name}', which is no field of {row.sql()}.", f"Fields are {quoted_list(row.names)}."
            )
