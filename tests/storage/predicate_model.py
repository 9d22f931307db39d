"""What SQL says of predicates, in plain Python, and predicates to ask about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from paimon_sql.storage.expressions.predicates import And, Comparison, In, IsNull, Or, Predicate, StartsWith
from tests.storage.sample_values import COMPARE, Kind, sql_order

Row = Mapping[str, Any]
Logic = bool | None


def holds(predicate: Predicate, row: Row, kinds: Mapping[str, Kind]) -> Logic:
    """What SQL says of the predicate on a row."""
    if isinstance(predicate, And | Or):
        parts = [holds(p, row, kinds) for p in predicate.parts]
        decisive = isinstance(predicate, Or)
        return decisive if decisive in parts else None if None in parts else not decisive
    value = row[predicate.column]  # type: ignore[attr-defined]
    if isinstance(predicate, IsNull):
        return (value is None) != predicate.negated
    if value is None:
        return None
    if isinstance(predicate, StartsWith):
        return bool(value.startswith(predicate.prefix))
    if isinstance(predicate, In):
        return any(sql_order(plain(v)) == sql_order(value) for v in predicate.values)
    assert isinstance(predicate, Comparison)
    return COMPARE[predicate.operator](sql_order(value), sql_order(plain(predicate.value)))


def plain(scalar: pa.Scalar) -> Any:
    return scalar.value if pa.types.is_temporal(scalar.type) else scalar.as_py()


def negated(value: Logic) -> Logic:
    return None if value is None else not value


@st.composite
def leaves(draw: st.DrawFn, kinds: Mapping[str, Kind]) -> Predicate:
    column = draw(st.sampled_from(sorted(kinds)))
    kind = kinds[column]
    shapes = ["compare", "compare", "null", "in"] + (["starts"] if pa.types.is_string(kind.array([]).type) else [])
    shape = draw(st.sampled_from(shapes))
    if shape == "null":
        return IsNull(column, draw(st.booleans()))
    if shape == "in":
        return In(column, kind.array(draw(st.lists(kind.values, max_size=3))))
    if shape == "starts":
        return StartsWith(column, draw(kind.values)[:18])
    return Comparison(column, draw(st.sampled_from(sorted(COMPARE))), kind.scalar(draw(kind.values)))


@st.composite
def predicates(draw: st.DrawFn, kinds: Mapping[str, Kind]) -> Predicate:
    made = draw(
        st.recursive(
            leaves(kinds),
            lambda inner: st.builds(
                lambda kind, parts: kind(tuple(parts)),
                st.sampled_from([And, Or]),
                st.lists(inner, min_size=1, max_size=3),
            ),
            max_leaves=4,
        )
    )
    opposite = made.negate() if draw(st.booleans()) else None
    return made if opposite is None else opposite
