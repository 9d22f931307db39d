"""Predicates against plain Python: three-valued on rows, never too strict on statistics."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, manifest_table
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField, IntType, string_type
from paimon_sql.format.statistics.column_statistics import KEY_MODE, StatsCollector, column_modes
from paimon_sql.storage.data_files.pruning.pinned_columns import pinned_values, prune_buckets
from paimon_sql.storage.data_files.pruning.statistics import prune_by_key, prune_by_values
from paimon_sql.storage.expressions.predicates import (
    And,
    ColumnStats,
    Comparison,
    In,
    IsNull,
    Or,
    Predicate,
    StartsWith,
)
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.metadata.manifests import partition_stats
from paimon_sql.storage.table.partitions import Router
from paimon_sql.storage.table.table import Table
from tests.storage.predicate_model import holds, leaves, negated, predicates
from tests.storage.sample_values import KINDS, Kind

Row = dict[str, Any]


@st.composite
def cases(draw: st.DrawFn, names: Sequence[str] = tuple(KINDS)) -> tuple[dict[str, Kind], list[list[Row]], Predicate]:
    """Two columns, some files of rows that often share their values with the predicate, and a predicate."""
    kinds = {"a": KINDS[draw(st.sampled_from(sorted(names)))], "b": KINDS["int"]}
    pools = {c: st.sampled_from(draw(st.lists(k.values, min_size=1, max_size=5))) for c, k in kinds.items()}
    narrow = {c: Kind(k.type, pools[c] | k.values) for c, k in kinds.items()}
    rows = st.fixed_dictionaries({c: st.none() | k.values for c, k in narrow.items()})
    files = draw(st.lists(st.lists(rows, min_size=1, max_size=4), min_size=1, max_size=4))
    return kinds, files, draw(predicates(narrow))


def columns_of(rows: Sequence[Row], kinds: dict[str, Kind]) -> dict[str, pa.Array]:
    return {c: k.array([r[c] for r in rows]) for c, k in kinds.items()}


# ---- rows ------------------------------------------------------------------------------------------------------------


@given(cases())
def test_rows_are_decided_as_three_valued_logic_decides_them(case: tuple[Any, Any, Predicate]) -> None:
    kinds, files, predicate = case
    rows = [row for file in files for row in file]
    expected = [holds(predicate, row, kinds) for row in rows]
    columns = columns_of(rows, kinds)
    assert predicate.evaluate(columns).to_pylist() == expected
    opposite = predicate.negate()
    if opposite is not None:
        assert opposite.evaluate(columns).to_pylist() == [negated(e) for e in expected]
    assert len(predicate.evaluate(columns_of([], kinds))) == 0
    assert predicate.columns() <= kinds.keys()
    assert str(predicate)


# ---- statistics ------------------------------------------------------------------------------------------------------


def opened(path: Path, kinds: dict[str, Kind], options: dict[str, str], keys: Sequence[str] = ()) -> Table:
    fields = [DataField(i, c, k.type.as_nullable(c not in keys)) for i, (c, k) in enumerate(kinds.items())]
    schema = TableSchema(0, tuple(fields), len(fields), primary_keys=tuple(keys), options=options)
    table = Table("t", str(path), LocalFileIO(), schema)
    table.schemas._known[0] = schema
    return table


def entry(table: Table, number: int, rows: Sequence[Row], kinds: dict[str, Kind], file_format: str) -> ManifestEntry:
    """A file of these rows as a writer describes it."""
    batch = pa.table(columns_of(rows, kinds))
    modes = column_modes(table.schema.options, table.schema.names)
    values = StatsCollector(table.schema.fields, modes, file_format=file_format, dense="d" in table.schema.options)
    values.update(batch)
    stats, columns = values.finish()
    keys = StatsCollector(table.schema.key_fields, [KEY_MODE] * len(table.schema.key_fields), file_format=file_format)
    keys.update(batch)
    file = DataFileMeta(
        str(number), 1, len(rows), key_stats=keys.finish()[0], value_stats=stats, value_stats_cols=columns
    )
    return ManifestEntry(FileKind.ADD, RowCodec([]).encode([]), 0, 1, file)


def needed(files: list[list[Row]], predicate: Predicate, kinds: dict[str, Kind]) -> set[str]:
    return {str(i) for i, rows in enumerate(files) if any(holds(predicate, r, kinds) is True for r in rows)}


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
@settings(max_examples=60)
@given(
    case=cases(), mode=st.sampled_from(["full", "truncate(1)", "truncate(16)", "counts", "none"]), dense=st.booleans()
)
def test_no_file_with_a_matching_row_is_left_out(
    file_format: str, case: tuple[Any, Any, Predicate], mode: str, dense: bool
) -> None:
    kinds, files, predicate = case
    table = opened(Path("nowhere"), kinds, {"metadata.stats-mode": mode, **({"d": ""} if dense else {})})
    entries = manifest_table([entry(table, i, rows, kinds, file_format) for i, rows in enumerate(files)])
    left = prune_by_values(table, entries, predicate)["file_name"].to_pylist()
    assert needed(files, predicate, kinds) <= set(left)


@given(cases())
def test_no_file_with_a_matching_key_is_left_out(case: tuple[Any, Any, Predicate]) -> None:
    kinds, files, predicate = case
    files = [[row for row in rows if row["a"] is not None] for rows in files]
    table = opened(Path("nowhere"), kinds, {}, keys=["a"])
    entries = manifest_table([entry(table, i, rows, kinds, "parquet") for i, rows in enumerate(files) if rows])
    left = prune_by_key(table, entries, predicate)["file_name"].to_pylist()
    assert needed(files, predicate, kinds) <= set(left)


def test_statistics_do_leave_files_out() -> None:
    kinds = {"a": KINDS["text"], "b": KINDS["int"]}
    files = [[{"a": c * 30, "b": i}] for i, c in enumerate("abc")] + [[{"a": None, "b": None}]]
    table = opened(Path("nowhere"), kinds, {})
    entries = manifest_table([entry(table, i, rows, kinds, "parquet") for i, rows in enumerate(files)])

    def left(predicate: Predicate) -> list[str]:
        return list(prune_by_values(table, entries, predicate)["file_name"].to_pylist())

    one, b = pa.scalar(1, pa.int32()), pa.scalar("b" * 30)
    assert left(Comparison("a", "=", b)) == ["1"]
    assert left(Comparison("a", ">", b)) == ["1", "2"]  # the bound is cut
    assert left(Comparison("b", "<", one)) == ["0"]
    assert left(Comparison("b", "<=", one)) == ["0", "1"]
    assert left(Comparison("b", "!=", one)) == ["0", "2"]
    assert left(IsNull("b")) == ["3"]
    assert left(IsNull("b", negated=True)) == ["0", "1", "2"]
    assert left(In("b", pa.array([2, 9], pa.int32()))) == ["2"]
    assert left(StartsWith("a", "c")) == ["2"]
    assert left(And((IsNull("a", negated=True), Comparison("b", ">=", one)))) == ["1", "2"]
    assert left(Or((IsNull("a"), Comparison("b", "<", one)))) == ["0", "3"]


def test_a_column_that_came_later_is_null_in_older_files() -> None:
    old = TableSchema(0, (DataField(0, "a", IntType()),), 0)
    new = TableSchema(1, (DataField(0, "a", IntType()), DataField(1, "s", string_type())), 1)
    table = Table("t", "nowhere", LocalFileIO(), new)
    table.schemas._known.update({0: old, 1: new})
    stats = StatsCollector(old.fields, column_modes({}, old.names))
    stats.update(pa.table({"a": pa.array([1], pa.int32())}))
    file = DataFileMeta("f", 1, 1, value_stats=stats.finish()[0], schema_id=0)
    entries = manifest_table([ManifestEntry(FileKind.ADD, RowCodec([]).encode([]), 0, 1, file)])
    assert len(prune_by_values(table, entries, IsNull("s"))) == 1
    for nothing in (
        IsNull("s", negated=True),
        StartsWith("s", "x"),
        In("s", pa.array(["x"])),
        Comparison("s", "!=", pa.scalar("x")),
    ):
        assert len(prune_by_values(table, entries, nothing)) == 0


def test_a_column_dropped_and_added_again_is_another_column() -> None:
    old = TableSchema(0, (DataField(0, "a", IntType()), DataField(1, "x", IntType())), 1)
    new = TableSchema(1, (DataField(0, "renamed", IntType()), DataField(2, "x", string_type())), 2)
    table = Table("t", "nowhere", LocalFileIO(), new)
    table.schemas._known.update({0: old, 1: new})
    stats = StatsCollector(old.fields, column_modes({}, old.names))
    stats.update(pa.table({"a": pa.array([7], pa.int32()), "x": pa.array([1], pa.int32())}))
    file = DataFileMeta("f", 1, 1, value_stats=stats.finish()[0], schema_id=0)
    entries = manifest_table([ManifestEntry(FileKind.ADD, RowCodec([]).encode([]), 0, 1, file)])
    assert len(prune_by_values(table, entries, Comparison("renamed", "=", pa.scalar(7, pa.int32())))) == 1
    assert len(prune_by_values(table, entries, Comparison("renamed", "=", pa.scalar(8, pa.int32())))) == 0
    assert len(prune_by_values(table, entries, IsNull("x", negated=True))) == 0


@given(st.data())
def test_bounds_of_partitions_hold_every_partition(data: st.DataObject) -> None:
    kinds = {c: KINDS[data.draw(st.sampled_from(sorted(KINDS.keys() - {"bytes"})))] for c in ("a", "b")}
    rows = data.draw(st.lists(st.fixed_dictionaries({c: st.none() | k.values for c, k in kinds.items()}), min_size=1))
    fields = [DataField(i, c, k.type) for i, (c, k) in enumerate(kinds.items())]
    codec = RowCodec([f.type for f in fields])
    encoded = pa.chunked_array([pa.array([codec.encode([r[c] for c in kinds]) for r in rows], pa.binary())])
    stats = partition_stats(encoded, fields)
    assert stats.null_counts == tuple(sum(r[c] is None for r in rows) for c in kinds)
    predicate = data.draw(predicates(kinds))
    low, high = (RowCodec([f.type for f in fields]).decode(b) for b in (stats.min_values, stats.max_values))
    bounds = {}
    for i, (c, kind) in enumerate(kinds.items()):
        ends = [_as_kind(kind, v) for v in (low[i], high[i])]
        count = pa.array([stats.null_counts[i]], pa.int64())
        bounds[c] = ColumnStats(ends[0], ends[1], count, pa.array([len(rows)], pa.int64()))
    if any(holds(predicate, row, kinds) for row in rows):
        assert predicate.may_hold(bounds).to_pylist() == [True]


def _as_kind(kind: Kind, value: Any) -> pa.Array:
    return pa.array([value], kind.array([]).type)


# ---- buckets ---------------------------------------------------------------------------------------------------------


@given(st.data())
def test_no_bucket_with_a_matching_row_is_left_out(data: st.DataObject) -> None:
    kinds = {c: KINDS[data.draw(st.sampled_from(sorted(KINDS)))] for c in ("a", "b")}
    pools = {
        c: Kind(k.type, st.sampled_from(data.draw(st.lists(k.values, min_size=1, max_size=3))))
        for c, k in kinds.items()
    }
    rows = data.draw(st.lists(st.fixed_dictionaries({c: k.values for c, k in pools.items()}), min_size=1, max_size=6))
    parts = data.draw(st.lists(leaves(pools), min_size=1, max_size=4))
    predicate: Predicate = reduce(lambda p, q: And((p, q)), parts)
    table = opened(Path("nowhere"), kinds, {"bucket": "4", "bucket-key": "a,b"})
    made = []
    batch = pa.RecordBatch.from_pydict(columns_of(rows, kinds))
    for number, bucket in enumerate(Router(table.schema, 4).buckets_of(batch)):
        made.append(ManifestEntry(FileKind.ADD, b"", int(bucket), 4, DataFileMeta(str(number), 1, 1)))
    left = prune_buckets(table.schema, manifest_table(made), predicate)["file_name"].to_pylist()
    assert needed([[r] for r in rows], predicate, kinds) <= set(left)


def test_a_pinned_key_leaves_other_buckets_out() -> None:
    table = opened(Path("nowhere"), {"a": KINDS["date"]}, {"bucket": "4"}, keys=["a"])
    entries = manifest_table([ManifestEntry(FileKind.ADD, b"", b, 4, DataFileMeta(str(b), 1, 1)) for b in range(4)])
    far = KINDS["date"].scalar(4_000_000)  # a day that Python has no date for
    assert len(prune_buckets(table.schema, entries, Comparison("a", "=", far))) == 1
    assert len(prune_buckets(table.schema, entries, In("a", KINDS["date"].array([])))) == 0
    assert len(prune_buckets(table.schema, entries, Comparison("a", ">", far))) == 4
    assert pinned_values(Or((Comparison("a", "=", far),)), ["a"]) == {}


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_numbers_that_are_equal_are_found_whatever_their_bits(kind: pa.DataType) -> None:
    values = pa.array([float("nan"), -float("nan"), 0.0, -0.0, 1.0, None], kind)
    for wanted, found in (([-float("nan")], 2), ([float("nan"), 7.0], 2), ([-0.0], 2), ([0.0, 1.0], 3)):
        holding = In("x", pa.array(wanted, kind)).evaluate({"x": values}).to_pylist()
        assert holding.count(True) == found and holding[-1] is None
