"""The order of keys against Python's own sorting of tuples."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.storage.expressions.kernels.sorting import SortColumn, comparable, group_starts, sort_order
from tests.storage.sample_values import KINDS, Kind, key_order


class Descending:
    """Turns the order of what it holds round."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Descending) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descending) and bool(self.value == other.value)


def model_key(value: Any, descending: bool) -> Any:
    """Nulls come first in either direction."""
    if value is None:
        return (0, 0)
    return (1, Descending(key_order(value)) if descending else key_order(value))


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Kind], list[bool], list[tuple[Any, ...]]]:
    kinds = [KINDS[draw(st.sampled_from(sorted(KINDS)))] for _ in range(draw(st.integers(1, 3)))]
    descending = [draw(st.booleans()) for _ in kinds]
    nullable = draw(st.booleans())
    pools = [draw(st.lists(k.values, min_size=1, max_size=4)) for k in kinds]
    values = [
        (st.none() if nullable else st.nothing()) | st.sampled_from(p) | k.values
        for p, k in zip(pools, kinds, strict=True)
    ]
    return kinds, descending, draw(st.lists(st.tuples(*values), max_size=12))


@given(tables())
def test_rows_sort_stably_like_tuples_with_nulls_first(
    case: tuple[list[Kind], list[bool], list[tuple[Any, ...]]],
) -> None:
    kinds, descending, rows = case
    columns = [comparable(k.array([r[i] for r in rows])) for i, k in enumerate(kinds)]
    order = sort_order([SortColumn(c, d) for c, d in zip(columns, descending, strict=True)])
    expected = sorted(
        range(len(rows)), key=lambda i: tuple(model_key(v, d) for v, d in zip(rows[i], descending, strict=True))
    )
    assert order.dtype == np.int64
    assert order.tolist() == expected

    keys = [tuple(map(key_order, rows[i])) for i in expected]
    changes = [i + 1 for i, (a, b) in enumerate(pairwise(keys)) if a != b]
    assert group_starts(columns, order).tolist() == ([0, *changes] if rows else [])


@given(st.data())
def test_chunks_and_slices_sort_like_whole_columns(data: st.DataObject) -> None:
    kind = KINDS[data.draw(st.sampled_from(sorted(KINDS)))]
    values = data.draw(st.lists(st.none() | kind.values, min_size=1, max_size=10))
    cut = data.draw(st.integers(0, len(values)))
    whole = kind.array(["x"] * 0 + values)
    chunked = pa.chunked_array([whole.slice(0, cut), whole.slice(cut)], whole.type)
    padded = pa.concat_arrays([whole.slice(0, 1), whole, whole.slice(0, 1)]).slice(1, len(values))
    plain = sort_order([SortColumn(comparable(whole))]).tolist()
    assert sort_order([SortColumn(comparable(chunked))]).tolist() == plain
    assert sort_order([SortColumn(comparable(padded))]).tolist() == plain


@pytest.mark.parametrize("name", ["float", "double"])
def test_floats_are_in_java_s_total_order(name: str) -> None:
    kind = KINDS[name]
    values = [float("-inf"), -1.0, -0.0, 0.0, 1.0, float("inf"), float("nan")]
    columns = [comparable(kind.array(values[::-1]))]
    order = sort_order([SortColumn(columns[0])])
    assert order.tolist() == list(range(len(values)))[::-1]
    assert len(group_starts(columns, order)) == len(values)


def test_every_nan_is_the_same_key() -> None:
    strange = np.array([0x7FF8000000000001, 0x7FF8000000000000, 0xFFF8000000000000], np.uint64).view(np.float64)
    column = comparable(pa.array(strange))
    assert len(group_starts([column], sort_order([SortColumn(column)]))) == 1


def test_integers_at_the_ends_of_their_range_sort_descending_without_overflow() -> None:
    column = comparable(pa.array([-(2**63), 2**63 - 1, 0, -1], pa.int64()))
    assert sort_order([SortColumn(column, descending=True)]).tolist() == [1, 2, 3, 0]


def test_a_dictionary_sorts_by_its_values() -> None:
    column = pa.array(["b", "a", None, "b"]).dictionary_encode()
    order = sort_order([SortColumn(comparable(column))])
    assert order.tolist() == [2, 1, 0, 3]
    assert group_starts([comparable(column)], order).tolist() == [0, 1, 2]
