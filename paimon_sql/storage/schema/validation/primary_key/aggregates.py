"""Rules about aggregate functions: they exist and support their columns' types."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_sql.errors import PaimonError
from paimon_sql.format.options.table.merge_engine import (
    FIELD_AGG_FUNCTION,
    FIELD_SEQUENCE_GROUP,
    FIELDS_DEFAULT_AGG_FUNCTION,
)
from paimon_sql.format.options.values import comma_separated
from paimon_sql.storage.merge.aggregates.registry import FUNCTIONS
from paimon_sql.storage.merge.registry import engine_of
from paimon_sql.storage.metadata.definition import Definition, conflict


def aggregate_functions(table: Definition) -> Iterator[PaimonError]:
    """Functions exist and support their column's type, and the rules of each function hold."""
    if not table.has_key or not engine_of(table.options).aggregates:
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
                f"names '{function}', which is not an aggregate function.",
                f"Use one of {', '.join(sorted(FUNCTIONS))}.",
            )
            continue
        kind = FUNCTIONS[function]
        if name not in excluded and not kind.supports(field.type):
            yield conflict(
                key,
                f"names '{function}', which supports {kind.supported_types}, for column '{name}' of type"
                f" {field.type.sql()}.",
            )
        elif name not in excluded:
            yield from kind.problems(table, field)
