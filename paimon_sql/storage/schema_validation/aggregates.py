"""Rules about aggregate functions: they exist and take their columns' types."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from paimon_sql.errors import PaimonError
from paimon_sql.format import types as t
from paimon_sql.format.options.merge_engine import (
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
from paimon_sql.storage.schema_validation.columns import UNORDERED
from paimon_sql.storage.schema_validation.definition import Definition, conflict, listed

Test = Callable[[t.DataType], bool]

_INTEGERS = (t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType)
_NUMBERS = (*_INTEGERS, t.FloatType, t.DoubleType, t.DecimalType)


def _is_rows(data_type: t.DataType) -> bool:
    return isinstance(data_type, t.ArrayType) and isinstance(data_type.element, t.RowType)


def _is_timed_map(data_type: t.DataType) -> bool:
    if not isinstance(data_type, t.MapType) or not isinstance(data_type.value, t.RowType):
        return False
    return len(data_type.value.fields) >= 2


_ANY: tuple[str, Test] = ("any type", lambda _: True)
_NUMBER: tuple[str, Test] = ("a number", lambda d: isinstance(d, _NUMBERS))
_ORDERED: tuple[str, Test] = ("a type whose values can be compared", lambda d: not isinstance(d, UNORDERED))
_BOOLEAN: tuple[str, Test] = ("BOOLEAN", lambda d: isinstance(d, t.BooleanType))
_BYTES: tuple[str, Test] = ("BYTES", lambda d: isinstance(d, t.VarBinaryType))
_ROWS: tuple[str, Test] = ("ARRAY<ROW<..>>", _is_rows)

FUNCTIONS: dict[str, tuple[str, Test]] = {
    "sum": _NUMBER,
    "product": _NUMBER,
    "count": ("a whole number", lambda d: isinstance(d, _INTEGERS)),
    "max": _ORDERED,
    "min": _ORDERED,
    "last_value": _ANY,
    "last_non_null_value": _ANY,
    "first_value": _ANY,
    "first_non_null_value": _ANY,
    "first_not_null_value": _ANY,
    "listagg": ("STRING", lambda d: isinstance(d, t.VarCharType) and d.length == t.MAX_LENGTH),
    "bool_and": _BOOLEAN,
    "bool_or": _BOOLEAN,
    "collect": ("ARRAY", lambda d: isinstance(d, t.ArrayType)),
    "merge_map": ("MAP", lambda d: isinstance(d, t.MapType)),
    "merge_map_with_keytime": ("MAP of rows with two fields or more", _is_timed_map),
    "nested_update": _ROWS,
    "nested_partial_update": _ROWS,
    "rbm32": _BYTES,
    "rbm64": _BYTES,
    "hll_sketch": _BYTES,
    "theta_sketch": _BYTES,
    "primary-key": _ANY,
}
"""The functions by name, with what they take."""

_NESTED = ("nested_update", "nested_partial_update")


def aggregate_functions(table: Definition) -> Iterator[PaimonError]:
    """Each column's function exists, takes its type and finds the members that its options name."""
    if not table.has_key or table.merge_engine not in ("aggregation", "partial-update"):
        return
    passed_over = {*table.schema.primary_keys, *table.sequence_fields}
    for names, _ in table.options.matching(FIELD_SEQUENCE_GROUP):
        passed_over |= set(comma_separated(names[0]))
    default = table.options.get(FIELDS_DEFAULT_AGG_FUNCTION)
    for name, field in table.columns.items():
        own = table.options.get(FIELD_AGG_FUNCTION, name)
        function = own or default
        key = FIELD_AGG_FUNCTION.for_name(name) if own else FIELDS_DEFAULT_AGG_FUNCTION.key
        if function is None or (name in passed_over and own is None):
            continue
        if function not in FUNCTIONS:
            yield conflict(
                key,
                f"names '{function}', which is no aggregate function.",
                f"There are {', '.join(sorted(FUNCTIONS))}.",
            )
            continue
        wanted, test = FUNCTIONS[function]
        if name not in passed_over and not test(field.type):
            yield conflict(
                key, f"names '{function}', which takes {wanted}, for column '{name}' of type {field.type.sql()}."
            )
        elif name not in passed_over:
            yield from _members(table, field, function)


def retractions(table: Definition) -> Iterator[PaimonError]:
    """What removes a whole row cannot pass retractions of a column over."""
    if table.merge_engine == "aggregation" and table.is_on(AGGREGATION_REMOVE_RECORD_ON_DELETE):
        for names, ignored in table.options.matching(FIELD_IGNORE_RETRACT):
            if ignored:
                yield conflict(
                    FIELD_IGNORE_RETRACT.for_name(*names),
                    f"cannot be true where '{AGGREGATION_REMOVE_RECORD_ON_DELETE.key}' is.",
                    "Leave one of them out.",
                )


def _members(table: Definition, field: t.DataField, function: str) -> Iterator[PaimonError]:
    nested_key = table.names_of(FIELD_NESTED_KEY, field.name)
    if function == "nested_partial_update" and not nested_key:
        yield conflict(FIELD_NESTED_KEY.for_name(field.name), f"is needed by '{function}' of column '{field.name}'.")
    if function in _NESTED and isinstance(field.type, t.ArrayType) and isinstance(field.type.element, t.RowType):
        for option in (FIELD_NESTED_KEY, FIELD_NESTED_SEQUENCE_FIELD):
            yield from _known(option.for_name(field.name), table.names_of(option, field.name), field.type.element)
        for dependent in (FIELD_NESTED_SEQUENCE_FIELD, FIELD_NESTED_KEY_NULL_STRATEGY):
            if not nested_key and table.options.has(dependent, field.name):
                needed = FIELD_NESTED_KEY.for_name(field.name)
                yield conflict(dependent.for_name(field.name), f"needs '{needed}'.", f"Set '{needed}' too.")
    if function == "merge_map_with_keytime" and isinstance(field.type, t.MapType):
        row = field.type.value
        if isinstance(row, t.RowType):
            yield from _known(FIELD_TS_FIELD.for_name(field.name), table.names_of(FIELD_TS_FIELD, field.name), row)


def _known(key: str, names: tuple[str, ...], row: t.RowType) -> Iterator[PaimonError]:
    for name in names:
        if name not in row.names:
            yield conflict(
                key, f"names '{name}', which is no field of {row.sql()}.", f"Fields are {listed(row.names)}."
            )
