"""Layouts of rows: numbers in the order of values, z-order and Hilbert's curve against models, bounded sorting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.arrow_types import is_bytes
from paimon_sql.storage.write.clustering.base import codes, is_ordered, prefixes
from paimon_sql.storage.write.clustering.clustering import row_layout, sorted_rows
from paimon_sql.storage.write.clustering.orders import hilbert
from tests.storage.sample_values import KINDS, Kind, sql_order

_WORD = 2**64


def model_number(kind: pa.DataType, value: Any) -> Any:
    """What the order of codes follows for a value; nulls are below everything."""
    if value is None:
        return (0,)
    if is_bytes(kind):
        return (1, (value.encode() if isinstance(value, str) else value)[:8].ljust(8, b"\0"))
    if isinstance(value, Decimal) and kind.precision > 18:
        return (1, float(value))
    return (1, sql_order(value))


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
@given(data=st.data())
def test_codes_stand_in_the_order_of_the_values(kind: Kind, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | kind.values, max_size=12))
    array = kind.array(values)
    found = codes(array).tolist()
    expected = [model_number(array.type, v) for v in values]
    for (a, x), (b, y) in product(zip(found, expected, strict=True), repeat=2):
        if x < y:
            # The smallest value may share its code with null.
            assert a <= b if len(x) == 1 or array.type == pa.decimal128(38, 10) else a < b
        elif x == y:
            assert a == b
    sliced = pa.concat_arrays([kind.array([None]), array])[1:]
    assert codes(sliced).tolist() == found


@given(st.lists(st.none() | st.text(max_size=6), max_size=8), st.integers(1, 11))
def test_prefixes_are_filled_up_with_zeros(texts: list[str | None], length: int) -> None:
    expected = [(t or "").encode()[:length].ljust(length, b"\0") for t in texts]
    array = pa.concat_arrays([pa.array(["x"]), pa.array(texts, pa.string())])[1:]
    assert [bytes(row) for row in prefixes(array, length)] == expected


def z_model(columns: Sequence[Sequence[bytes]]) -> list[bytes]:
    """The bits of each row's columns in turn."""
    found = []
    for row in zip(*columns, strict=True):
        bits = [f"{int.from_bytes(b, 'big'):0{8 * len(b)}b}" for b in row]
        longest = max(map(len, bits))
        turn = "".join(b[i] for i in range(longest) for b in bits if i < len(b))
        found.append(int(turn, 2).to_bytes(len(turn) // 8, "big"))
    return found


@given(
    st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.none() | st.text(max_size=6), st.floats()), max_size=6),
    st.integers(1, 12),
)
def test_the_z_order_takes_the_bits_of_the_columns_in_turn(
    rows: list[tuple[int, str | None, float]], length: int
) -> None:
    numbers, texts, floats = (
        pa.array([r[i] for r in rows], t) for i, t in enumerate((pa.int64(), "str", pa.float64()))
    )
    found = row_layout("ZOrder").keys([numbers, texts, floats], length)
    parts = [
        [int(c).to_bytes(8, "big") for c in codes(numbers)],
        [(r[1] or "").encode()[:length].ljust(length, b"\0") for r in rows],
        [int(c).to_bytes(8, "big") for c in codes(floats)],
    ]
    whole = [b"".join(int(w).to_bytes(8, "big") for w in row) for row in np.column_stack(found)]
    model = z_model(parts)
    assert [w[: len(m)] for w, m in zip(whole, model, strict=True)] == model


@pytest.mark.parametrize(("dimensions", "bits"), [(1, 4), (2, 3), (3, 2), (4, 2)])
def test_the_curve_of_hilbert_visits_each_point_and_goes_to_a_neighbour(dimensions: int, bits: int) -> None:
    points = np.array(list(product(range(2**bits), repeat=dimensions)), dtype=np.uint64)
    axes = hilbert.transposed(list(points.T), bits)
    places = [
        int("".join(str(int(a[row]) >> b & 1) for b in range(bits - 1, -1, -1) for a in axes), 2)
        for row in range(len(points))
    ]
    assert sorted(places) == list(range(len(points)))
    walk = points[np.argsort(places)].astype(np.int64)
    assert (np.abs(np.diff(walk, axis=0)).sum(axis=1) == 1).all()


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_one_column_alone_keeps_its_order_on_every_curve(values: list[int]) -> None:
    column = pa.array(values, pa.int64())
    for name in ("zorder", "hilbert"):
        (key,) = row_layout(name).keys([column], 8)
        assert np.array(values)[np.argsort(key.to_numpy(), kind="stable")].tolist() == sorted(values)


def test_an_unknown_layout_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="spiral"):
        row_layout("spiral")


def test_nested_values_have_no_order() -> None:
    assert not is_ordered(pa.list_(pa.int32())) and not is_ordered(pa.struct([("a", pa.int32())]))
    assert is_ordered(pa.binary()) and is_ordered(pa.bool_())


@pytest.mark.parametrize("memory", [1, 4_000, 10**9])
@pytest.mark.parametrize("name", ["order", "zorder", "hilbert"])
def test_rows_are_sorted_whole_however_little_memory_there_is(name: str, memory: int) -> None:
    random = np.random.default_rng(7)
    count = 3_000
    a = random.integers(0, 5, count)
    table = pa.table(
        {
            "a": pa.array(a, mask=a == 3),
            "f": pa.array(random.choice([math.nan, -1.5, -0.0, 0.0, 2.5], count)),
            "n": pa.array(np.arange(count)),
        }
    )
    layout = row_layout(name)

    def keys(rows: pa.Table) -> list[pa.Array]:
        return layout.keys([rows["a"].combine_chunks(), rows["f"].combine_chunks()], 8)

    found = pa.Table.from_batches(sorted_rows(table.to_batches(max_chunksize=500), keys, memory), table.schema)
    assert sorted(found["n"].to_pylist()) == list(range(count))
    whole = pa.Table.from_batches(sorted_rows(table.to_batches(), keys, 10**9), table.schema)
    assert found["n"].to_pylist() == whole["n"].to_pylist()
    if name == "order":
        rank = [(r["a"] is not None, r["a"] or 0, sql_order(r["f"])) for r in found.to_pylist()]
        assert rank == sorted(rank)


def test_no_rows_are_no_batches() -> None:
    assert list(sorted_rows([], lambda rows: [rows["a"]], 100)) == []
