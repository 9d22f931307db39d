"""Global index files: what is written is found again, by single keys, ranges and for nulls."""

from __future__ import annotations

import datetime as dt
import zlib
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.bytes.varints import decode, decoded_at, encode, sizes_of
from paimon_sql.format.global_index.base import GlobalIndexReader, SortedRows, rows_of
from paimon_sql.format.global_index.blocks import Compression, decode_block, encode_block
from paimon_sql.format.global_index.keys import IndexKeys, keys_of
from paimon_sql.format.global_index.registry import KINDS
from paimon_sql.format.metadata.index_manifest import KeyRange, source_snapshot, written_source
from paimon_sql.format.options.values import TableOptions
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type

TIMES = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31))
VALUES: dict[t.DataType, st.SearchStrategy[Any]] = {
    t.BooleanType(): st.booleans(),
    t.TinyIntType(): st.integers(-128, 127),
    t.SmallIntType(): st.integers(-(2**15), 2**15 - 1),
    t.IntType(): st.integers(-(2**31), 2**31 - 1),
    t.BigIntType(): st.integers(-(2**63), 2**63 - 1),
    t.FloatType(): st.floats(width=32) | st.just(-0.0),
    t.DoubleType(): st.floats() | st.just(-0.0),
    t.DecimalType(True, 12, 2): st.integers(-(10**12) + 1, 10**12 - 1).map(lambda n: Decimal(n).scaleb(-2)),
    t.DecimalType(True, 38, 5): st.integers(-(2**100), 2**100).map(lambda n: Decimal(n % 10**33).scaleb(-5)),
    t.DateType(): st.dates(),
    t.TimeType(True, 3): st.integers(0, 86_399_999),
    t.TimestampType(True, 0): TIMES.map(lambda x: x.replace(microsecond=0)),
    t.TimestampType(True, 3): TIMES.map(lambda x: x.replace(microsecond=x.microsecond // 1000 * 1000)),
    t.LocalZonedTimestampType(True, 6): TIMES,
    t.TimestampType(True, 9): st.integers(-(2**62), 2**62),
    t.string_type(): st.text(max_size=5),
}
SMALL_BLOCKS = {"btree-index.block-size": "40 b", "bitmap-index.dictionary-block-size": "30 b"}


def written(kind: str, data_type: t.DataType, values: pa.Array, options: dict[str, str]) -> bytes:
    keys = IndexKeys(data_type)
    held = keys.ordered(values)
    valid = np.flatnonzero(pc.is_valid(held).to_numpy(zero_copy_only=False))
    kept = held.take(pa.array(valid, pa.int64()))
    order = pc.sort_indices(kept)
    nulls = np.setdiff1d(np.arange(len(values)), valid)
    rows = SortedRows(kept.take(order), valid[order.to_numpy().astype(np.int64)], nulls)
    return b"".join(KINDS[kind].write(rows, keys, TableOptions(options)))


def reader(kind: str, data_type: t.DataType, data: bytes) -> GlobalIndexReader:
    return KINDS[kind].reader(lambda at, size: data[at : at + size], len(data), IndexKeys(data_type))


@st.composite
def columns(draw: st.DrawFn) -> tuple[t.DataType, pa.Array]:
    data_type = draw(st.sampled_from(sorted(VALUES, key=str)))
    some = draw(st.lists(VALUES[data_type], min_size=1, max_size=8))
    values = draw(st.lists(st.none() | st.sampled_from(some), min_size=1, max_size=60))
    return data_type, pa.array(values, arrow_type(data_type))


@pytest.mark.parametrize("kind", ["btree", "bitmap"])
@settings(max_examples=120)
@given(columns(), st.sampled_from(["none", "zstd", "lz4"]), st.booleans(), st.data())
def test_an_index_finds_the_rows_that_hold_its_keys(
    kind: str, column: tuple[t.DataType, pa.Array], compression: str, small: bool, data: st.DataObject
) -> None:
    data_type, values = column
    options = {f"{kind}-index.compression": compression, **(SMALL_BLOCKS if small else {})}
    index = reader(kind, data_type, written(kind, data_type, values, options))
    keys = IndexKeys(data_type)
    held = keys.ordered(values)
    assert rows_of(index.nulls()).tolist() == [i for i, v in enumerate(values) if not v.is_valid]

    def where(mask: pa.Array) -> list[int]:
        found: list[int] = np.flatnonzero(pc.fill_null(mask, False).to_numpy(zero_copy_only=False)).tolist()
        return found

    known = values.drop_null()
    if not len(known):
        return
    low, high = (data.draw(st.sampled_from(list(keys.ordered(known)))) for _ in range(2))
    wanted = keys.equals(known.slice(0, 2))
    assert rows_of(index.among(wanted)).tolist() == where(pc.is_in(held, value_set=wanted))
    assert rows_of(index.between(low, None)).tolist() == where(pc.greater_equal(held, low))
    assert rows_of(index.between(None, high, with_high=False)).tolist() == where(pc.less(held, high))
    inside = pc.and_(pc.greater(held, low), pc.less_equal(held, high))
    assert rows_of(index.between(low, high, with_low=False)).tolist() == where(inside)


@st.composite
def array_columns(draw: st.DrawFn) -> tuple[t.ArrayType, pa.Array]:
    element = draw(st.sampled_from(sorted(VALUES, key=str)))
    some = draw(st.lists(VALUES[element], min_size=1, max_size=8))
    arrays = st.none() | st.lists(st.none() | st.sampled_from(some), max_size=5)
    data_type = t.ArrayType(True, element)
    return data_type, pa.array(draw(st.lists(arrays, min_size=1, max_size=40)), arrow_type(data_type))


@given(array_columns(), st.sampled_from(["none", "zstd", "lz4"]), st.booleans())
def test_an_index_of_elements_finds_the_rows_whose_arrays_hold_them(
    column: tuple[t.ArrayType, pa.Array], compression: str, small: bool
) -> None:
    data_type, values = column
    options = {"multivalue-index.compression": compression}
    if small:
        options["multivalue-index.dictionary-block-size"] = "30 b"
    kind, keys = KINDS["multivalue"], keys_of(data_type)
    held, owners = kind.keyed(data_type, values, np.arange(len(values)))
    order = pc.sort_indices(held)
    rows = SortedRows(held.take(order), owners[order.to_numpy().astype(np.int64)], owners[:0])
    data = b"".join(kind.write(rows, keys, TableOptions(options)))
    index = kind.reader(lambda at, size: data[at : at + size], len(data), keys)
    assert not index.nulls()
    for element in {str(v): v for v in pc.list_flatten(values).drop_null()}.values():
        wanted = keys.equals(pa.array([element.as_py()], element.type))
        expected = [
            i
            for i, array in enumerate(values)
            if array.is_valid and pc.any(pc.is_in(keys.ordered(array.values), value_set=wanted)).as_py()
        ]
        assert rows_of(index.among(wanted)).tolist() == expected


def test_an_index_of_elements_tells_no_nulls_and_holds_each_row_of_a_key_once() -> None:
    kind, data_type = KINDS["multivalue"], t.ArrayType(True, t.string_type())
    values = pa.array([["b", "a", "b"], None, [], [None, "a"]], arrow_type(data_type))
    held, owners = kind.keyed(data_type, values, np.array([5, 6, 7, 8]))
    assert sorted(zip(held.to_pylist(), owners.tolist(), strict=True)) == [(b"a", 5), (b"a", 8), (b"b", 5)]
    rows = SortedRows(pa.array([b"a", b"a", b"b"]), np.array([5, 8, 5]), owners[:0])
    data = b"".join(kind.write(rows, keys_of(data_type), TableOptions({})))
    nulls, filled = int.from_bytes(data[-48:-40], "big"), int.from_bytes(data[-36:-28], "big")
    assert data[nulls : nulls + 8] == data[filled : filled + 8] == bytes(8)
    assert kind.supports(data_type) and not kind.supports(t.string_type())
    assert not kind.supports(t.ArrayType(True, data_type))


@pytest.mark.parametrize("data_type", VALUES, ids=str)
@given(st.data())
def test_keys_are_the_same_after_they_were_stored(data_type: t.DataType, data: st.DataObject) -> None:
    keys = IndexKeys(data_type)
    held = keys.ordered(pa.array(data.draw(st.lists(VALUES[data_type], max_size=20)), arrow_type(data_type)))
    assert keys.decoded(keys.encoded(held)).cast(held.type).equals(held)


def test_both_zeros_are_one_value_and_nan_is_greater_than_all_others() -> None:
    values = pa.array([0.0, -0.0, float("nan"), 1.0, None])
    keys, index = (
        IndexKeys(t.DoubleType()),
        reader("btree", t.DoubleType(), written("btree", t.DoubleType(), values, {})),
    )
    assert rows_of(index.among(keys.equals(pa.array([-0.0])))).tolist() == [0, 1]
    assert rows_of(index.among(keys.equals(pa.array([float("nan")])))).tolist() == [2]
    assert rows_of(index.between(keys.bound(pa.scalar(0.0), above=True), None, with_low=False)).tolist() == [2, 3]
    assert rows_of(index.between(keys.bound(pa.scalar(0.0), above=False), None)).tolist() == [0, 1, 2, 3]


def test_a_b_tree_is_written_as_java_writes_it() -> None:
    data = written("btree", t.string_type(), pa.array(["a", "b", "a", None]), {})
    block = b"\x01a\x03\x02\x00\x02" + b"\x01b\x02\x01\x01"
    places = b"\0\0\0\0\x06\0\0\0" + b"\x02\0\0\0\x01"
    assert data.startswith(block + places)
    assert data[-8:] == (1).to_bytes(4, "little") + b"ITBP"
    trailer, nulls, index, footer = 5, 8 + 4 + 18 + 4, 5 + 5, 52
    assert len(data) == len(block + places) + trailer + nulls + index + trailer + footer


@given(st.lists(st.integers(0, 2**63 - 1)))
def test_numbers_are_the_same_after_they_were_written_short(numbers: list[int]) -> None:
    held = np.array(numbers, np.int64)
    data = encode(held)
    found, starts = decode(data)
    assert found.tolist() == numbers
    assert np.diff(starts, append=len(data)).tolist() == sizes_of(held).tolist() if numbers else not len(data)
    assert decoded_at(data, starts)[0].tolist() == numbers


def test_a_number_that_does_not_end_is_refused() -> None:
    with pytest.raises(ValueError, match="is cut off"):
        decode(np.array([0x80], np.uint8))
    with pytest.raises(ValueError, match="is cut off"):
        decoded_at(np.array([1, 0x80], np.uint8), np.array([1]))


@pytest.mark.parametrize("name", ["none", "zstd", "lz4"])
def test_a_block_that_was_changed_is_refused(name: str) -> None:
    block, size = encode_block(b"abc" * 100, Compression(name))
    assert decode_block(block) == b"abc" * 100
    assert len(block) == size + 5
    with pytest.raises(ValueError, match="checksum"):
        decode_block(bytes([block[0] ^ 1]) + block[1:])


def test_a_block_of_a_compression_that_is_not_here_says_so() -> None:
    for number, error in ((3, UnsupportedError), (9, ValueError)):
        checksum = zlib.crc32(b"x" + bytes([number]))
        with pytest.raises(error):
            decode_block(b"x" + bytes([number]) + checksum.to_bytes(4, "little"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_something_else_is_refused(kind: str) -> None:
    for data in (b"", b"x" * 100):
        with pytest.raises(ValueError, match=r"too short|is no"):
            reader(kind, t.IntType(), data)


@pytest.mark.parametrize("held", [KeyRange(b"a", b"bc", True), KeyRange(b"", b"", True), KeyRange(None, None, True)])
def test_a_range_of_keys_tells_null_from_an_empty_key(held: KeyRange) -> None:
    assert KeyRange.read(held.write()) == held
    older = held.write()[:-2]
    assert KeyRange.read(older) == (held if held.first else KeyRange(None, None, True))
    with pytest.raises(ValueError, match="too early"):
        KeyRange.read(held.write()[:6])


def test_the_snapshot_of_an_index_is_told() -> None:
    assert source_snapshot(written_source(7)) == 7
    assert source_snapshot(b"DEIX\0\0\0\2" + bytes(8)) is None
    assert source_snapshot(None) is None
