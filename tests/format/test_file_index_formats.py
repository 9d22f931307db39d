from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from paimon_sql.errors import CorruptFileError
from paimon_sql.format.bytes.row_bitmaps import encode_bitmap, read_bitmap, serialized_each
from paimon_sql.format.file_index.base import IndexReader, Operator
from paimon_sql.format.file_index.container import read_header, write_container
from paimon_sql.format.file_index.declared import declared_indexes
from paimon_sql.format.file_index.kinds.bloom_filter import hash_bytes
from paimon_sql.format.file_index.registry import KINDS
from paimon_sql.format.options import TableOptions
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.storage.expressions.predicates import Comparison, In

OPERATORS: tuple[Operator, ...] = get_args(Operator)
TEXTS = st.text(max_size=3) | st.sampled_from(["a", "b", "x" * 40, "y" * 33])
TIMES = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))
MILLIS = TIMES.map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000))
FLOATS = st.sampled_from([0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1.5, -1.5, 2.0])
SMALL = st.integers(-3, 3)
TYPES: dict[t.DataType, st.SearchStrategy[Any]] = {
    t.BooleanType(): st.booleans(),
    t.TinyIntType(): SMALL | st.integers(-128, 127),
    t.SmallIntType(): SMALL | st.integers(-(2**15), 2**15 - 1),
    t.IntType(): SMALL | st.integers(-(2**31), 2**31 - 1),
    t.BigIntType(): SMALL | st.integers(-(2**63), 2**63 - 1),
    t.FloatType(): FLOATS,
    t.DoubleType(): FLOATS | st.floats(),
    t.DecimalType(True, 10, 2): SMALL.map(Decimal) | st.decimals(-1000, 1000, places=2),
    t.DecimalType(True, 30, 0): SMALL.map(Decimal) | st.sampled_from([Decimal(10**20), Decimal(-(10**25))]),
    t.string_type(): TEXTS,
    t.VarCharType(True, 10): st.text(max_size=3),
    t.VarBinaryType(): st.binary(max_size=3),
    t.DateType(): st.dates(),
    t.TimestampType(True, 3): MILLIS,
    t.TimestampType(True, 6): TIMES,
    t.TimestampType(True, 9): TIMES,
}
GIVEN = {
    "bloom-filter": {"items": "20"},
    "bitmap": {"index-block-size": "80 b"},
    "range-bitmap": {"chunk-size": "20 b"},
}
CASES = [(kind, data_type) for kind in KINDS for data_type in TYPES if KINDS[kind].supports(data_type)]


def built(kind: str, data_type: t.DataType, parts: list[pa.Array], texts: dict[str, str]) -> bytes | None:
    builder = KINDS[kind].builder(data_type, TableOptions(texts))
    for part in parts:
        builder.add(part)
    return builder.finish()


def scalar(value: Any, kind: pa.DataType) -> pa.Scalar:
    return pa.array([value], kind)[0]


@pytest.mark.parametrize(("kind", "data_type"), CASES, ids=lambda case: case if isinstance(case, str) else case.sql())
@settings(max_examples=15)
@given(data=st.data())
def test_an_index_never_leaves_out_a_row_that_a_condition_is_true_for(
    kind: str, data_type: t.DataType, data: st.DataObject
) -> None:
    arrow = arrow_type(data_type)
    values = data.draw(st.lists(st.none() | TYPES[data_type], max_size=12))
    probes = data.draw(st.lists(TYPES[data_type] | st.sampled_from(values or [None]), min_size=1, max_size=3))
    probes = [p for p in probes if p is not None]
    column = pa.array(values, arrow)
    texts = GIVEN.get(kind, {}) if data.draw(st.booleans()) else {}
    if kind == "bitmap" and data.draw(st.booleans()):
        texts = {"version": "1"}
    body = built(kind, data_type, [column[:5], column[5:]], texts)
    if body is None:
        numbers = [int(v) for v in values if isinstance(v, int | Decimal)]
        assert any(abs(number) >= 2**63 for number in numbers) or any(
            len(v.encode()) > 60 for v in values if isinstance(v, str)
        )
        return
    reader = KINDS[kind].reader(body, data_type)
    exact = kind != "bloom-filter" and data_type != t.TimestampType(True, 9)
    for probe in probes:
        for operator in OPERATORS:
            compared = Comparison("c", operator, scalar(probe, arrow))
            check(
                reader.compare(operator, compared.value), pc.fill_null(compared.evaluate({"c": column}), False), exact
            )
    if probes:
        wanted = pa.array(probes, arrow)
        check(reader.equal_any(wanted), pc.fill_null(In("c", wanted).evaluate({"c": column}), False), exact)
    check(reader.nulls(), pc.is_null(column), True)
    check(reader.not_nulls(), pc.is_valid(column), True)


def check(found: BitMap | None, true: pa.Array, exact: bool) -> None:
    rows = BitMap(np.flatnonzero(true.to_numpy(zero_copy_only=False)))
    if found is not None:
        assert found == rows if exact else rows <= found


@pytest.mark.parametrize("kind", ["bitmap", "bsi", "range-bitmap"])
def test_these_kinds_answer_everything_that_they_know(kind: str) -> None:
    body = built(kind, t.IntType(), [pa.array([3, None, 3, -1], pa.int32())], {})
    assert body is not None
    reader: IndexReader = KINDS[kind].reader(body, t.IntType())
    assert reader.compare("=", pa.scalar(3, pa.int32())) == BitMap([0, 2])
    assert reader.compare("!=", pa.scalar(3, pa.int32())) == BitMap([3])
    assert (reader.compare("<", pa.scalar(3, pa.int32())) == BitMap([3])) is (kind != "bitmap")
    assert (reader.nulls(), reader.not_nulls()) == (BitMap([1]), BitMap([0, 2, 3]))


def test_a_bloom_filter_tells_of_most_values_that_are_not_there() -> None:
    body = built("bloom-filter", t.string_type(), [pa.array([f"v{i}" for i in range(1000)])], {"items": "1000"})
    assert body is not None
    reader = KINDS["bloom-filter"].reader(body, t.string_type())
    silent = sum(reader.compare("=", pa.scalar(f"w{i}")) is None for i in range(1000))
    assert 20 < silent < 200


@given(
    st.lists(st.integers(0, 300_000)), st.lists(st.tuples(st.integers(0, 300_000), st.integers(1, 90_000)), max_size=3)
)
@settings(max_examples=30)
def test_bitmaps_are_written_in_the_portable_format(single: list[int], runs: list[tuple[int, int]]) -> None:
    wanted = BitMap(single)
    for first, count in runs:
        wanted |= BitMap(range(first, first + count))
    data = encode_bitmap(np.array(wanted.to_array(), np.int64))
    assert read_bitmap(data + b"more") == wanted


SHORT = st.tuples(st.integers(0, 200_000), st.integers(1, 6)).map(lambda run: set(range(run[0], run[0] + run[1])))


@given(st.lists(SHORT | st.sets(st.integers(0, 200_000), min_size=1, max_size=9), max_size=6), st.booleans())
def test_many_bitmaps_are_written_as_each_is(groups: list[set[int]], big: bool) -> None:
    wanted = [sorted(group) for group in groups] + ([list(range(0, 140_000, 2))] if big else [])
    arrays = [np.array(group, np.int64) for group in wanted]
    positions = np.concatenate([np.empty(0, np.int64), *arrays])
    counts = np.array([len(group) for group in wanted], np.int64)
    assert serialized_each(positions, counts) == [encode_bitmap(group) for group in arrays]


def test_texts_have_the_hashes_of_the_specification() -> None:
    texts = [b"", b"a", b"abc", b"Nobody inspects the spammish repetition"]
    hashes = hash_bytes(pa.array(texts, pa.binary())).view(np.uint64).tolist()
    assert hashes == [0xEF46DB3751D8E999, 0xD24EC4F1A98C6E5B, 0x44BC2CF5AD770999, 0xFBCEA83C8A378BF1]


def golden_indexes(golden: Path) -> Iterator[tuple[str, str, bytes, pa.ChunkedArray]]:
    """Kind, column, bytes and values of the index files that Java wrote."""
    for path in sorted(golden.glob("index_*_file/**/*.index")):
        data, rows = path.read_bytes(), pq.read_table(path.with_suffix(""))
        for place in read_header(data, str(path)):
            yield place.kind, place.column, data[place.start : place.start + place.length], rows[place.column]


GOLDEN_TYPES = {
    "id": t.IntType(),
    "s": t.string_type(),
    "n": t.BigIntType(),
    "d": t.DecimalType(True, 10, 2),
    "dt": t.DateType(),
}


def test_indexes_that_java_wrote_are_written_alike_and_read(golden: Path) -> None:
    kinds = set()
    for kind, name, body, column in golden_indexes(golden):
        data_type, values = GOLDEN_TYPES[name], column.combine_chunks()
        texts = {"items": "200"} if kind == "bloom-filter" else {}
        ours = built(kind, data_type, column.chunks, texts)
        assert ours is not None and len(ours) == len(body)
        # Java puts the bitmaps of values in the order of a hash table.
        assert ours == body or kind == "bitmap"
        reader = KINDS[kind].reader(body, data_type)
        for value in values.drop_null().unique()[:5]:
            found = reader.compare("=", value)
            rows = BitMap(np.flatnonzero(pc.fill_null(pc.equal(values, value), False).to_numpy(zero_copy_only=False)))
            assert found == rows or kind == "bloom-filter"
        kinds.add(kind)
    assert kinds == {"bloom-filter", "bitmap", "range-bitmap"}


@given(st.dictionaries(st.text(max_size=3), st.dictionaries(st.text(max_size=3), st.none() | st.binary(max_size=3))))
def test_containers_are_read_as_they_were_written(indexes: dict[str, dict[str, bytes | None]]) -> None:
    data = write_container(indexes)
    found: dict[str, dict[str, bytes | None]] = {}
    for place in read_header(data, "x"):
        body = None if place.is_empty else data[place.start : place.start + place.length]
        found.setdefault(place.column, {})[place.kind] = body
    assert found == {column: kinds for column, kinds in indexes.items() if kinds}


def test_a_broken_container_is_told() -> None:
    data = write_container({"c": {"bsi": b"12"}})
    for broken in (b"", data[:10], b"x" + data[1:], data[:11] + b"\x02" + data[12:], data[:24]):
        with pytest.raises(CorruptFileError, match="the file x"):
            read_header(broken, "the file x")


@pytest.mark.parametrize("kind", KINDS)
def test_broken_indexes_are_told(kind: str) -> None:
    body = built(kind, t.IntType(), [pa.array([1, 2, 2], pa.int32())], {})
    assert body is not None
    for broken in (b"", b"\x09" + body[1:], body[:3]):
        with pytest.raises(ValueError, match=r"index|filter|bitmap|bit slices"):
            KINDS[kind].reader(broken, t.IntType())


def test_options_tell_columns_keys_of_maps_and_their_settings() -> None:
    options = {
        "file-index.bloom-filter.columns": "k, m[a],m[b], k",
        "file-index.bloom-filter.k.fpp": "0.01",
        "file-index.bloom-filter.m.items": "5",
        "file-index.bloom-filter.m[b].items": "6",
        "file-index.nosuch.columns": "k",
        "file-index.in-manifest-threshold": "1 kb",
        "file-index.read.enabled": "true",
    }
    found = {i.name: (i.column, i.map_key, dict(i.settings.texts)) for i in declared_indexes(TableOptions(options))}
    assert found == {
        "k": ("k", None, {"fpp": "0.01"}),
        "m[a]": ("m", "a", {"items": "5"}),
        "m[b]": ("m", "b", {"items": "6"}),
    }
