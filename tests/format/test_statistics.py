"""Column statistics, against what Java wrote into the golden manifests and at the edges of values."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.table.data_file import StatsMode
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema, arrow_type
from paimon_sql.format.schema.system_fields import key_field
from paimon_sql.format.statistics.column_statistics import (
    EMPTY_STATS,
    FULL,
    KEY_MODE,
    SimpleStats,
    StatsCollector,
    column_modes,
    decode_stats_columns,
    stats_fields,
    truncate_high,
)
from tests.format.golden_files import GoldenFile, golden_files

_WIDE = Context(prec=40)


def _collect(
    data_type: t.DataType, *batches: list[Any], mode: StatsMode = FULL, file_format: str = "parquet"
) -> tuple[Any, Any, int | None]:
    """Low, high and null count of one column."""
    field = t.DataField(0, "c", data_type)
    collector = StatsCollector([field], [mode], file_format=file_format, dense=False)
    for batch in batches:
        collector.update(pa.record_batch([pa.array(batch, arrow_type(data_type))], schema=arrow_schema([field])))
    stats, columns = collector.finish()
    assert columns is None
    assert stats.null_counts is not None
    codec = RowCodec([data_type])
    return codec.decode(stats.min_values)[0], codec.decode(stats.max_values)[0], stats.null_counts[0]


def _stored(record: dict[str, Any]) -> SimpleStats:
    return SimpleStats(record["_MIN_VALUES"], record["_MAX_VALUES"], tuple(record["_NULL_COUNTS"]))


def _out_of_reach(file: GoldenFile) -> bool:
    """Whether the file's own writer had other rules, or pyarrow cannot read the file's values."""
    if file.path is None or file.format == "blob" or file.meta.get("_WRITE_COLS"):
        return True
    times = (t.TimestampType, t.LocalZonedTimestampType)
    return file.case == "postpone_bucket" or (
        file.format == "orc" and any(isinstance(f.type, times) for f in file.schema.fields)
    )


def test_statistics_of_every_golden_file_are_those_that_java_wrote(golden: Path) -> None:
    formats = []
    for file in golden_files(golden):
        if _out_of_reach(file):
            continue
        schema, options = file.schema, file.schema.options
        thin = options.get("data-file.thin-mode") == "true"
        level = file.meta["_LEVEL"] if schema.primary_keys else None
        keys = schema.trimmed_primary_keys if thin else ()
        modes = column_modes(options, schema.names, level=level, key_names=keys)
        dense = options.get("metadata.stats-dense-store", "true") == "true"
        collector = StatsCollector(schema.fields, modes, file_format=file.format, dense=dense)
        table = file.table(schema.fields)
        for batch in table.to_batches(max_chunksize=2):
            collector.update(batch)
        stats, columns = collector.finish()
        stored_columns = file.meta.get("_VALUE_STATS_COLS")
        assert columns == (None if stored_columns is None else tuple(stored_columns)), file
        assert stats == _stored(file.meta["_VALUE_STATS"]), file
        if schema.primary_keys:
            fields = [key_field(f) for f in schema.key_fields]
            keys_only = table.select([f.name for f in schema.key_fields]).rename_columns([f.name for f in fields])
            collector = StatsCollector(fields, [KEY_MODE] * len(fields), file_format=file.format, dense=False)
            collector.update(keys_only)
            assert collector.finish() == (_stored(file.meta["_KEY_STATS"]), None), file
        formats.append(file.format)
    assert {f: formats.count(f) > 5 for f in ("parquet", "orc", "avro")} == {"parquet": True, "orc": True, "avro": True}


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([0.0, -0.0], -0.0, 0.0),
        ([0.0], 0.0, 0.0),
        ([-0.0], -0.0, -0.0),
        ([-0.0, -1.0], -1.0, -0.0),
        ([1.0, math.nan, -math.inf], -math.inf, math.nan),
        ([math.nan], math.nan, math.nan),
    ],
)
@pytest.mark.parametrize("data_type", [t.FloatType(), t.DoubleType()], ids=str)
def test_zeros_and_nan_have_the_order_of_java(
    data_type: t.DataType, values: list[float], low: float, high: float
) -> None:
    for batches in ([values], [[v] for v in values], [[v] for v in reversed(values)]):
        found = _collect(data_type, *batches)
        assert [repr(x) for x in found[:2]] == [repr(low), repr(high)]


_VALUES: list[tuple[t.DataType, st.SearchStrategy[Any]]] = [
    (t.BooleanType(), st.booleans()),
    (t.IntType(), st.integers(-(2**31), 2**31 - 1)),
    (t.DateType(), st.integers(-(2**31), 2**31 - 1)),
    (t.TimeType(True, 3), st.integers(0, 86_399_999)),
    (t.TimestampType(), st.integers(-(2**62), 2**62)),
    (t.DecimalType(True, 38, 2), st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Decimal(n).scaleb(-2, _WIDE))),
    (t.string_type(), st.text(max_size=6)),
    (t.bytes_type(), st.binary(max_size=6)),
]


@settings(max_examples=100)
@given(st.data())
def test_bounds_are_the_smallest_and_greatest_value_and_nulls_are_counted(data: st.DataObject) -> None:
    data_type, strategy = data.draw(st.sampled_from(_VALUES))
    batches = data.draw(st.lists(st.lists(st.none() | strategy, max_size=6), max_size=3))
    values = [v for batch in batches for v in batch]
    there = [v for v in values if v is not None]
    low, high, nulls = _collect(data_type, *batches)
    codec = RowCodec([data_type])
    assert (codec.encode([low]), codec.encode([high])) == (
        codec.encode([min(there, default=None)]),
        codec.encode([max(there, default=None)]),
    )
    assert nulls == values.count(None)


@given(st.text(max_size=8) | st.binary(max_size=8), st.integers(1, 8))
def test_a_cut_bound_is_short_and_still_a_bound(value: str | bytes, length: int) -> None:
    cut = truncate_high(value, length)
    assert cut is None or (len(cut) <= length and cut >= value)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("value", "length", "cut"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "abd"),
        ("日本語日本語", 4, "日本語旦"),
        ("ab🙂🙂", 3, "ab🙃"),
        ("a\U0010ffffz", 2, "b"),
        ("\U0010ffff\U0010ffffz", 2, None),
        ("\ud7ff!", 1, "\ue000"),
        (b"\x01\xffz", 2, b"\x02"),
        (b"\xff\xffz", 2, None),
        (b"\xff\xff", 2, b"\xff\xff"),
    ],
)
def test_the_last_character_that_can_is_raised(value: str | bytes, length: int, cut: str | bytes | None) -> None:
    assert truncate_high(value, length) == cut


def test_bounds_are_cut_and_left_out_together() -> None:
    mode = StatsMode.parse("truncate(2)")
    assert _collect(t.string_type(), ["b🙂z", "abc", None], mode=mode) == ("ab", "b🙃", 1)
    assert _collect(t.string_type(), ["a", "\U0010ffff" * 3], mode=mode) == (None, None, 0)
    assert _collect(t.IntType(), [12345], mode=mode) == (12345, 12345, 0)


@pytest.mark.parametrize(
    ("data_type", "file_format", "found"),
    [
        (t.TimestampType(True, 9), "parquet", (None, None, 1)),
        (t.TimestampType(True, 9), "orc", (5, 5, 1)),
        (t.bytes_type(), "orc", (None, None, 1)),
        (t.bytes_type(), "avro", (b"\x05", b"\x05", 1)),
        (t.ArrayType(), "parquet", (None, None, None)),
        (t.ArrayType(), "orc", (None, None, 1)),
        (t.VariantType(), "parquet", (None, None, None)),
        (t.BlobType(), "parquet", (None, None, 1)),
    ],
)
def test_formats_lack_the_statistics_that_they_lack_with_java(
    data_type: t.DataType, file_format: str, found: tuple[Any, Any, int | None]
) -> None:
    value: Any = 5
    if isinstance(data_type, t.VarBinaryType | t.BlobType):
        value = b"\x05"
    elif isinstance(data_type, t.ArrayType):
        value = [5]
    elif isinstance(data_type, t.VariantType):
        value = {"value": b"", "metadata": b""}
    assert _collect(data_type, [value, None], file_format=file_format) == found


def test_columns_without_statistics_are_left_out_of_dense_rows_only() -> None:
    fields = [t.DataField(0, "a", t.IntType()), t.DataField(1, "b", t.ArrayType()), t.DataField(2, "c", t.IntType())]
    modes = [FULL, FULL, StatsMode.parse("none")]
    batch = pa.record_batch([[1, 2], [[1], None], [None, 3]], schema=arrow_schema(fields))
    dense, full = (StatsCollector(fields, modes, dense=d) for d in (True, False))
    for collector in (dense, full):
        collector.update(batch)
    stats, columns = dense.finish()
    assert columns == ("a",)
    assert stats == SimpleStats(RowCodec([t.IntType()]).encode([1]), RowCodec([t.IntType()]).encode([2]), (0,))
    stats, columns = full.finish()
    assert columns is None
    assert stats.null_counts == (0, None, None)
    assert RowCodec([f.type for f in fields]).decode(stats.max_values) == (2, None, None)


def test_no_statistics_at_all_are_the_empty_ones() -> None:
    collector = StatsCollector([t.DataField(0, "a", t.IntType())], [StatsMode.parse("none")])
    collector.update(pa.record_batch({"a": [1]}))
    assert collector.finish() == (EMPTY_STATS, ())


def test_a_batch_without_the_column_is_refused() -> None:
    collector = StatsCollector([t.DataField(0, "a", t.IntType())], [FULL])
    with pytest.raises(InvalidInputError, match="'a'"):
        collector.update(pa.record_batch({"b": [1]}))


def test_statistics_of_many_files_are_read_as_columns() -> None:
    types = [t.IntType(), t.DoubleType(), t.string_type()]
    codec = RowCodec(types)
    lows = [codec.encode([1, math.nan, "a"]), codec.encode([None, 0.5, None]), EMPTY_STATS.min_values]
    highs = [codec.encode([9, math.nan, "z"]), codec.encode([None, 1.5, None]), EMPTY_STATS.max_values]
    counts = [[0, 1, None], [5, 0, 7], []]
    for given_counts in (
        counts,
        pa.array(counts, pa.list_(pa.int64())),
        pa.array([None, *counts], pa.list_(pa.int64()))[1:],
    ):
        a, b, c = decode_stats_columns(lows, highs, given_counts, types)
        assert (a.low.to_pylist(), a.high.to_pylist()) == ([1, None, None], [9, None, None])
        assert (b.low.to_pylist(), b.high.to_pylist()) == ([None, 0.5, None], [None, 1.5, None])
        assert (c.low.to_pylist(), c.high.to_pylist()) == (["a", None, None], ["z", None, None])
        assert [x.null_count.to_pylist() for x in (a, b, c)] == [[0, 5, None], [1, 0, None], [None, 7, None]]
    assert decode_stats_columns(lows, highs, [None] * 3, types)[0].null_count.null_count == 3


def test_null_counts_of_another_number_of_columns_are_refused() -> None:
    row = RowCodec([t.IntType()]).encode([1])
    with pytest.raises(InvalidInputError, match="2 columns"):
        decode_stats_columns([row], [row], [[0, 0]], [t.IntType()])


def test_statistics_are_of_the_columns_that_the_file_names() -> None:
    fields = [t.DataField(0, "a", t.IntType()), t.DataField(1, "b", t.IntType())]
    assert stats_fields(fields, None) == fields
    assert stats_fields(fields, ("b",)) == fields[1:]
    assert stats_fields(fields, ()) == []
    with pytest.raises(InvalidInputError, match="'c'"):
        stats_fields(fields, ["c"])
