"""Aggregate functions over many keys at once give what folding one value after the other gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import ConstraintViolationError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.storage.expressions.kernels.sorting import Segments
from paimon_sql.storage.merge.aggregates.base import AggregateFunction, Steps
from paimon_sql.storage.merge.aggregates.registry import FUNCTIONS
from tests.storage import aggregate_model as model
from tests.storage.aggregate_model import ADD, LATE, RETRACT, Model, Step

Values = st.SearchStrategy[Any]


def function(name: str, kind: t.DataType, **options: str) -> AggregateFunction:
    texts = {f"fields.c.{key.replace('_', '-')}": text for key, text in options.items()}
    return FUNCTIONS[name](t.DataField(0, "c", kind), TableOptions(texts))


def steps_of(kind: t.DataType, groups: Sequence[Sequence[Step]]) -> Steps:
    owners = np.repeat(np.arange(len(groups)), [len(g) for g in groups]).astype(np.int64)
    flat = [step for group in groups for step in group]
    effects = np.array([effect for _, effect in flat], dtype=np.uint8)
    # Behind another value, so that the array does not begin at its buffer's start.
    values = pa.array([None, *(value for value, _ in flat)], arrow_type(kind)).slice(1)
    return Steps(values, Segments(owners, len(groups)), effects if effects.any() else None)


def groups_of(values: Values, effects: Sequence[int]) -> st.SearchStrategy[list[list[Step]]]:
    steps = st.tuples(st.none() | values, st.sampled_from(effects))
    return st.lists(st.lists(steps, max_size=6), max_size=5)


def in_order(kind: t.DataType, value: Any) -> Any:
    """Maps and keyed rows have no order."""
    if value is None or not isinstance(kind, t.MapType | t.ArrayType):
        return value
    elements = value.items() if isinstance(value, dict) else value
    return sorted(elements, key=lambda e: repr(sorted(e.items()) if isinstance(e, dict) else e))


def alike(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return bool(a == b)


INT, DOUBLE, TEXT, BOOLEAN = t.IntType(), t.DoubleType(), t.string_type(), t.BooleanType()
SHORT, LONG = t.DecimalType(True, 5, 2), t.DecimalType(True, 38, 3)
integers = st.integers(-5, 5) | st.integers(-(2**31), 2**31 - 1)
doubles = st.floats(width=64) | st.sampled_from([0.1, -0.0, 0.0, math.nan, 1e308])
texts = st.sampled_from(["", " ", "a", "b", "a,b", "é", "\U0001f600", "\uffff"])


def decimals(kind: t.DecimalType) -> Values:
    bound = 10**kind.precision - 1
    numbers = st.integers(-300, 300) | st.integers(-bound, bound)
    return numbers.map(lambda n: Decimal(n).scaleb(-kind.scale, model.EXACT))


ARRAY = t.ArrayType(True, INT)
POINT = t.RowType(True, (t.DataField(1, "x", INT), t.DataField(2, "ts", TEXT)))
ROWS = t.ArrayType(True, t.RowType(True, tuple(t.DataField(i, n, INT) for i, n in enumerate("kas"))))
MAP, TIMED = t.MapType(True, t.IntType(False), INT), t.MapType(True, t.string_type(False), POINT)
small = st.none() | st.integers(0, 2)
arrays = st.lists(small, max_size=4)
lists_of_rows = st.lists(st.none() | st.fixed_dictionaries({"k": small, "a": small, "s": small}), max_size=3)
maps = st.dictionaries(st.integers(0, 3), small, max_size=3).map(lambda d: list(d.items()))
points = st.none() | st.fixed_dictionaries({"x": small, "ts": st.none() | st.sampled_from("abc")})
timed_maps = st.dictionaries(st.sampled_from("pq"), points, max_size=2).map(lambda d: list(d.items()))
tokens = st.sampled_from(["", " ", "a", "b", "a;b", "b;;c", "é"])
TAKING, GROUPED = (ADD, RETRACT, LATE), (ADD, LATE)
CASES: dict[str, tuple[str, t.DataType, Values, Model, tuple[int, ...], dict[str, str]]] = {
    "sum of tinyint": ("sum", t.TinyIntType(), st.integers(-128, 127), model.integer_sum(8), TAKING, {}),
    "sum of int": ("sum", INT, integers, model.integer_sum(32), TAKING, {}),
    "sum of bigint": ("sum", t.BigIntType(), st.integers(-(2**63), 2**63 - 1), model.integer_sum(64), TAKING, {}),
    "sum of float": ("sum", t.FloatType(), st.floats(width=32), model.float_sum(np.float32), TAKING, {}),
    "sum of double": ("sum", DOUBLE, doubles, model.float_sum(np.float64), TAKING, {}),
    "sum of decimal": ("sum", SHORT, decimals(SHORT), model.decimal_sum(5, 2), TAKING, {}),
    "sum of long decimal": ("sum", LONG, decimals(LONG), model.decimal_sum(38, 3), TAKING, {}),
    "product of int": ("product", INT, integers, model.integer_product(32), GROUPED, {}),
    "product of int, back": (*("product", INT, integers.filter(bool), model.integer_product(32), TAKING, {}),),
    "product of double": ("product", DOUBLE, doubles, model.float_product(), TAKING, {}),
    "product of decimal": ("product", SHORT, decimals(SHORT).filter(bool), model.decimal_product(5, 2), TAKING, {}),
    "product of long decimal": ("product", LONG, decimals(LONG).filter(bool), model.decimal_product(38, 3), TAKING, {}),
    "max of double": ("max", DOUBLE, doubles, model.maximum, GROUPED, {}),
    "min of double": ("min", DOUBLE, doubles, model.minimum, GROUPED, {}),
    "max of text": ("max", TEXT, texts, model.maximum, GROUPED, {}),
    "min of text": ("min", TEXT, texts, model.minimum, GROUPED, {}),
    "max of decimal": ("max", LONG, decimals(LONG), model.maximum, GROUPED, {}),
    "min of date": ("min", t.DateType(), st.dates(), model.minimum, GROUPED, {}),
    "bool_and": ("bool_and", BOOLEAN, st.booleans(), model.minimum, GROUPED, {}),
    "bool_or": ("bool_or", BOOLEAN, st.booleans(), model.maximum, GROUPED, {}),
    "last_value": ("last_value", INT, integers, model.last_value, TAKING, {}),
    "last_non_null_value": ("last_non_null_value", INT, integers, model.last_non_null_value, TAKING, {}),
    "first_value": ("first_value", INT, integers, model.first_value, GROUPED, {}),
    "listagg": ("listagg", TEXT, texts, model.listagg(), GROUPED, {}),
    "listagg, distinct": (
        *("listagg", TEXT, tokens, model.listagg(";", True), GROUPED),
        {"distinct": "true", "list_agg_delimiter": ";"},
    ),
    "collect": ("collect", ARRAY, arrays, model.collect(), TAKING, {}),
    "collect, distinct": ("collect", ARRAY, arrays, model.collect(True), TAKING, {"distinct": "true"}),
    "merge_map": ("merge_map", MAP, maps, model.merge_map, TAKING, {}),
    "merge_map_with_keytime": ("merge_map_with_keytime", TIMED, timed_maps, model.merge_map_with_keytime, (ADD,), {}),
    "nested_update": ("nested_update", ROWS, lists_of_rows, model.nested_update(), TAKING, {}),
    "nested_update, limit": (
        *("nested_update", ROWS, lists_of_rows, model.nested_update(limit=3), (ADD,), {"count_limit": "3"}),
    ),
    "nested_update, key": (
        *("nested_update", ROWS, lists_of_rows, model.nested_update("k"), TAKING, {"nested_key": "k"}),
    ),
    "nested_update, key and limit": (
        *("nested_update", ROWS, lists_of_rows, model.nested_update("k", limit=2), (ADD,)),
        {"nested_key": "k", "count_limit": "2"},
    ),
    "nested_update, sequence": (
        *("nested_update", ROWS, lists_of_rows, model.nested_update("k", "s"), TAKING),
        {"nested_key": "k", "nested_sequence_field": "s"},
    ),
    "nested_partial_update": (
        *("nested_partial_update", ROWS, lists_of_rows, model.nested_partial_update("k"), GROUPED),
        {"nested_key": "k"},
    ),
    "first_non_null_value": ("first_non_null_value", INT, integers, model.first_non_null_value, (ADD,), {}),
}


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=30)
@given(data=st.data())
def test_a_function_folds_like_its_model(case: str, data: st.DataObject) -> None:
    name, kind, values, expected, effects, options = CASES[case]
    groups = data.draw(groups_of(values, effects))
    result = function(name, kind, **options).apply(steps_of(kind, groups))
    assert result.type == arrow_type(kind)
    result.validate(full=True)
    with np.errstate(all="ignore"):
        wanted = [expected(group) for group in groups]
    given = result.to_pylist()
    if "key" in str(options) or isinstance(kind, t.MapType):
        given, wanted = ([in_order(kind, value) for value in values] for values in (given, wanted))
    assert all(alike(a, b) for a, b in zip(given, wanted, strict=True)), (given, wanted)


def test_a_long_group_is_summed_in_its_order() -> None:
    values = [0.1 * i for i in range(1000)]
    result = function("sum", DOUBLE).apply(steps_of(DOUBLE, [[(v, ADD) for v in values], [(1.5, ADD)]]))
    assert result.to_pylist() == [sum(values), 1.5]


@pytest.mark.parametrize("length", [3, 500])
def test_the_greatest_text_is_found_in_short_and_long_groups(length: int) -> None:
    texts = [f"é{i * 7 % length:04}" for i in range(length)]
    groups: list[list[tuple[Any, int]]] = [[(v, ADD) for v in [None, *texts]], [(None, ADD)], [("z", ADD)]]
    assert function("max", TEXT).apply(steps_of(TEXT, groups)).to_pylist() == [max(texts), None, "z"]
    assert function("min", TEXT).apply(steps_of(TEXT, groups)).to_pylist() == [min(texts), None, "z"]


def test_what_a_function_cannot_take_back_is_refused_and_can_be_ignored() -> None:
    steps = steps_of(INT, [[(1, ADD), (2, RETRACT)]])
    with pytest.raises(ConstraintViolationError, match=r"'max' of column 'c' does not support retraction.*ignore-ret"):
        function("max", INT).apply(steps)
    assert function("max", INT, ignore_retract="true").apply(steps).to_pylist() == [1]


def test_a_product_cannot_take_back_a_zero() -> None:
    with pytest.raises(ConstraintViolationError, match="cannot retract a zero"):
        function("product", INT).apply(steps_of(INT, [[(1, ADD), (0, RETRACT)]]))


def test_a_late_value_is_the_first_non_null_one_from_then_on() -> None:
    groups: list[list[tuple[Any, int]]] = [
        [("p", ADD), ("r", LATE), ("q", ADD)],
        [(None, ADD), ("x", LATE)],
        [("p", ADD), (None, LATE)],
    ]
    assert function("first_non_null_value", TEXT).apply(steps_of(TEXT, groups)).to_pylist() == ["r", "x", None]


def test_count_counts_what_was_written() -> None:
    count = function("count", INT)
    assert count.lift(pa.array([7, None, 0], pa.int32())).to_pylist() == [1, 0, 1]
    assert count.apply(steps_of(INT, [[(1, ADD), (0, ADD), (1, ADD), (1, RETRACT)]])).to_pylist() == [1]
