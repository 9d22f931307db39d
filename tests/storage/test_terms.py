"""Conditions on computed numbers against plain Python; where a number overflows all rows stay."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.storage.expressions.integer_terms import (
    Arithmetic,
    ColumnTerm,
    Constant,
    Remainder,
    TermComparison,
    Widened,
)
from paimon_sql.storage.expressions.predicates import And, Comparison, Or

INT = st.integers(-(2**31), 2**31 - 1)
OPERATORS = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def number(value: int) -> Constant:
    return Constant(pa.scalar(value, pa.int32()))


@given(st.lists(st.none() | INT, min_size=1), INT.filter(bool), st.integers(-5, 5), st.sampled_from(sorted(OPERATORS)))
def test_remainders_have_the_sign_of_what_is_divided(
    values: list[int | None], divisor: int, wanted: int, operator: str
) -> None:
    columns = {"a": pa.array(values, pa.int32())}
    found = TermComparison(Remainder(ColumnTerm("a"), divisor), operator, number(wanted)).evaluate(columns)
    told = [None if v is None else OPERATORS[operator](int(math.fmod(v, divisor)), wanted) for v in values]
    assert found.to_pylist() == told


@given(st.lists(st.none() | INT, min_size=1), st.integers(1, 2**31 - 1), st.integers(0, 5))
def test_positive_remainders_are_never_below_0(values: list[int | None], divisor: int, wanted: int) -> None:
    columns = {"a": pa.array(values, pa.int32())}
    found = TermComparison(Remainder(ColumnTerm("a"), divisor, True), "=", number(wanted)).evaluate(columns)
    assert found.to_pylist() == [None if v is None else v % divisor == wanted for v in values]


@given(st.lists(st.tuples(INT, INT), min_size=1), st.sampled_from("+-*"), INT, st.booleans())
def test_sums_and_products_are_told_unless_they_overflow(
    rows: list[tuple[int, int]], operator: str, wanted: int, wide: bool
) -> None:
    columns = {"a": pa.array([a for a, _ in rows], pa.int32()), "b": pa.array([b for _, b in rows], pa.int32())}
    kind = pa.int64() if wide else pa.int32()
    left, right = (Widened(ColumnTerm(name), kind) for name in "ab")
    told = [{"+": a + b, "-": a - b, "*": a * b}[operator] for a, b in rows]
    found = TermComparison(Arithmetic(operator, left, right), "<", Constant(pa.scalar(wanted, kind))).evaluate(columns)
    if all(-(2 ** (kind.bit_width - 1)) <= v < 2 ** (kind.bit_width - 1) for v in told):
        assert found.to_pylist() == [v < wanted for v in told]
    else:
        assert found.to_pylist() == [True] * len(rows)


@pytest.mark.parametrize("combine", [And, Or])
def test_a_condition_is_exact_unless_a_number_in_it_may_overflow(combine: type[And] | type[Or]) -> None:
    exact = Comparison("a", "=", pa.scalar(1))
    computed = TermComparison(Remainder(Widened(ColumnTerm("a"), pa.int64()), 7), "<", ColumnTerm("b"))
    sums = TermComparison(Remainder(Arithmetic("+", ColumnTerm("a"), ColumnTerm("b")), 7), "<", ColumnTerm("b"))
    assert combine((exact, computed)).is_exact
    assert not combine((exact, sums)).is_exact
    opposite = combine((exact, sums)).negate()
    assert opposite is not None
    assert not opposite.is_exact
