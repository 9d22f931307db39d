"""Writers: files of the wanted size, bounded memory, metadata that tells the truth, nothing left behind by an error."""

from __future__ import annotations

import pickle
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import ConstraintViolationError, InvalidInputError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.system_fields import RowKind
from paimon_sql.format.schema.types import BigIntType, DataField, DoubleType, IntType, string_type
from paimon_sql.format.statistics.column_statistics import has_bounds, has_counts
from paimon_sql.storage.data_files.lsm_tree import sections_of
from paimon_sql.storage.expressions.predicates import Comparison
from paimon_sql.storage.read.readers.data_file import DataFileReader
from paimon_sql.storage.table.partitions import Router
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from paimon_sql.storage.write.rolling import aborted_on_error
from paimon_sql.storage.write.writers import AppendWriter, BucketBuffers, KeyValueWriter
from tests.storage import commits
from tests.storage.core_tables import (
    COLUMNS,
    again,
    batch_of,
    data_files,
    insert,
    live,
    make_table,
    overwrite,
    plan,
    remove,
    rows,
    written,
)
from tests.storage.sample_values import KINDS, Kind, key_order

FORMATS = ["parquet", "orc", "avro"]
NO_PARTITION = RowCodec([]).encode([])


def noise(count: int, seed: int = 0) -> list[str]:
    random = np.random.default_rng(seed)
    return [bytes(random.integers(33, 126, 60, dtype=np.uint8)).decode() for _ in range(count)]


def read_file(table: Table, file: DataFileMeta, columns: Sequence[str]) -> pa.Table:
    return pa.Table.from_batches(DataFileReader(table, NO_PARTITION, 0, file, columns).batches())


# ---- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("keys", [[], ["id"]])
def test_files_end_near_the_target_size(tmp_path: Path, file_format: str, keys: list[str]) -> None:
    options = {"target-file-size": "100 kb", "file.format": file_format, "file.compression": "none"}
    if file_format == "orc":
        options["orc.stripe.size"] = "50 kb"
    table = make_table(tmp_path / "t", options, keys=keys)
    given = [(i * 7919 % 10_007, v, "x") for i, v in enumerate(noise(10_007))]
    insert(table, *given)
    files = [e.file for e in live(table)]
    assert sum(f.row_count for f in files) == len(given)
    assert len(files) >= 4
    sizes = sorted(f.file_size for f in files)
    assert sizes[1] >= 50 * 1024
    assert sizes[-1] <= 260 * 1024
    assert all(f.file_size == (Path(table.path) / "bucket-0" / f.file_name).stat().st_size for f in files)
    assert sorted(rows(table)) == sorted(given)
    if keys:
        assert len(sections_of(table.schema, files)) == len(files)


def test_rows_that_are_bigger_than_a_file_make_a_file_each(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"target-file-size": "1 kb"}, keys=["id"])
    given = [(i, "é" * 3_000_000 + str(i), "x") for i in range(3)]
    insert(table, *given)
    assert [e.file.row_count for e in live(table)] == [1, 1, 1]
    assert sorted(rows(table)) == given


# ---- memory ----------------------------------------------------------------------------------------------------------


def partitioned(table: Table, partitions: int, size: int) -> Iterator[pa.RecordBatch]:
    """Batches of about 1 MB whose rows fall evenly into the partitions."""
    values = pa.array(noise(10_000))
    for i in range(size):
        numbers = np.arange(10_000, dtype=np.int32) + i * 10_000
        columns = [pa.array(numbers), values, pa.array([f"p{n % partitions}" for n in numbers])]
        yield pa.RecordBatch.from_arrays(columns, names=table.schema.names)


@pytest.mark.parametrize("partitions", [3, 40, 250])
def test_many_partitions_stay_within_the_write_buffer(tmp_path: Path, partitions: int) -> None:
    buffer = 4 * 2**20
    table = make_table(tmp_path / "t", {"write-buffer-size": "4 mb", "file.compression": "none"}, partitions=["p"])
    before, handles = pa.total_allocated_bytes(), len(list(Path("/proc/self/fd").iterdir()))
    writer = AppendWriter(table)
    most = open_files = 0
    for batch in partitioned(table, partitions, 12):
        writer.write(batch)
        del batch
        most = max(most, pa.total_allocated_bytes() - before)
        open_files = max(open_files, len(list(Path("/proc/self/fd").iterdir())) - handles)
    messages = writer.close()
    assert most <= 6 * buffer
    assert open_files <= 120
    assert sum(f.row_count for m in messages for f in m.new_files) == 120_000
    assert len({m.partition for m in messages}) == partitions
    commits.append(table, messages)
    found = rows(table, Comparison("p", "=", pa.scalar("p1")))
    assert sorted(r[0] for r in found) == list(range(1, 120_000, partitions))


def test_a_writer_of_one_partition_is_not_cut_short_by_the_buffer(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-buffer-size": "1 mb"}, partitions=["p"])
    writer = AppendWriter(table)
    for batch in partitioned(table, 1, 5):
        writer.write(batch)
    (message,) = writer.close()
    assert [f.row_count for f in message.new_files] == [50_000]


def test_keyed_writers_stay_within_the_write_buffer(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-buffer-size": "4 mb"}, keys=["id", "p"], partitions=["p"])
    before = pa.total_allocated_bytes()
    writer = KeyValueWriter(table, {})
    most = 0
    for batch in partitioned(table, 20, 20):
        writer.write(batch)
        del batch
        most = max(most, pa.total_allocated_bytes() - before)
    messages = writer.close()
    assert most <= 5 * 4 * 2**20
    assert sum(f.row_count for m in messages for f in m.new_files) == 200_000


@pytest.fixture
def spills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which writers spill."""
    folder = tmp_path / "spills"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("disk", ["1 gb", "100 kb"])
@pytest.mark.parametrize("producer", ["none", "input"])
def test_rows_beyond_the_write_buffer_wait_on_the_disk(tmp_path: Path, spills: Path, disk: str, producer: str) -> None:
    options = {"write-buffer-size": "100 kb", "write-buffer-spill.max-disk-size": disk, "changelog-producer": producer}
    table = make_table(tmp_path / "t", {**options, "bucket": "2"}, keys=["id", "p"], partitions=["p"])
    writer = KeyValueWriter(table, {})
    for _ in range(2):
        for batch in partitioned(table, 3, 4):
            writer.write(batch)
    assert list(spills.iterdir())
    messages = writer.close()
    assert not list(spills.iterdir())
    if disk == "1 gb":
        assert len({(m.partition, m.bucket) for m in messages}) == len(messages)
        assert {len(m.new_files) for m in messages} == {1}
    else:
        assert len(messages) > 6
    commits.append(table, messages)
    assert len(rows(table)) == 40_000
    told = sum(f.row_count for m in messages for f in m.changelog_files)
    assert told == (80_000 if producer == "input" else 0)


def test_an_error_removes_what_waits_on_the_disk(tmp_path: Path, spills: Path) -> None:
    table = make_table(tmp_path / "t", {"write-buffer-size": "1 b"}, keys=["id"])

    def failing() -> Iterator[pa.RecordBatch]:
        yield batch_of(table, [(1, "a", "x"), (2, "b", "x")])
        assert list(spills.iterdir())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plan_write(table).run(failing())
    assert not list(spills.iterdir())
    assert not data_files(table)


def test_a_few_rows_that_wait_do_not_keep_their_batches_in_memory() -> None:
    flushed: Counter[tuple[bytes, int]] = Counter()
    before = pa.total_allocated_bytes()
    buffers = BucketBuffers(2**20, lambda target, rows: flushed.update({target: len(rows)}))
    for i in range(100):
        batch = pa.RecordBatch.from_pydict({"v": np.arange(i, i + 100_000)})
        buffers.add((b"big", 0), batch.slice(0, 99_999))
        buffers.add((b"%d" % i, 0), batch.slice(99_999))
        del batch
        assert pa.total_allocated_bytes() - before < 4 * 2**20
    buffers.flush()
    assert flushed[b"big", 0] == 100 * 99_999
    assert len(flushed) == 101


def test_rows_worth_a_portion_do_not_wait_for_more() -> None:
    flushed: list[tuple[bytes, int]] = []
    buffers = BucketBuffers(2**30, lambda target, rows: flushed.append((target[0], len(rows))), portion=8000)
    for _ in range(5):
        buffers.add((b"often", 0), pa.RecordBatch.from_pydict({"v": np.arange(500)}))
        buffers.add((b"seldom", 0), pa.RecordBatch.from_pydict({"v": np.arange(10)}))
    assert flushed == [(b"often", 1000), (b"often", 1000)]
    buffers.flush()
    assert flushed[2:] == [(b"seldom", 50), (b"often", 500)]


# ---- metadata --------------------------------------------------------------------------------------------------------


@st.composite
def typed_rows(draw: st.DrawFn) -> tuple[dict[str, Kind], list[dict[str, Any]]]:
    kinds = {f"c{i}": KINDS[name] for i, name in enumerate(draw(st.permutations(sorted(KINDS)))[:3])}
    values = {"id": st.integers(-5, 5), **{c: st.none() | k.values for c, k in kinds.items()}}
    return {"id": KINDS["int"], **kinds}, draw(st.lists(st.fixed_dictionaries(values), min_size=1, max_size=8))


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("keys", [[], ["id"]])
@settings(max_examples=12)
@given(case=typed_rows())
def test_counts_and_statistics_are_those_of_the_rows_read_back(
    file_format: str, keys: list[str], case: tuple[dict[str, Kind], list[dict[str, Any]]]
) -> None:
    kinds, given_rows = case
    kinds = {c: k for c, k in kinds.items() if can_hold(file_format, k, [r[c] for r in given_rows])}
    columns = [DataField(i, c, k.type) for i, (c, k) in enumerate(kinds.items())]
    with tempfile.TemporaryDirectory() as folder:
        options = {"file.format": file_format, "metadata.stats-mode": "full"}
        table = make_table(Path(folder) / "t", options, columns=columns, keys=keys)
        arrays = {c: k.array([r[c] for r in given_rows]) for c, k in kinds.items()}
        commits.append(table, plan_write(table).run([pa.RecordBatch.from_pydict(arrays)]))
        ((file),) = [e.file for e in live(table)]
        system = ["_SEQUENCE_NUMBER", "_VALUE_KIND"] if keys else []
        read = read_file(table, file, [*kinds, *system])
    newest = {r["id"]: r for r in given_rows}
    expected = sorted(newest.values(), key=lambda r: r["id"]) if keys else given_rows
    assert file.row_count == len(read) == len(expected)
    for column, kind in kinds.items():
        assert read[column].combine_chunks().equals(
            kind.array([r[column] for r in expected]).cast(read[column].type)
        ) or [key_order(v) for v in plain(read[column])] == [key_order(r[column]) for r in expected]
    check_statistics(file, kinds, expected, file_format)
    if keys:
        codec = RowCodec([KINDS["int"].type])
        assert (codec.decode(file.min_key), codec.decode(file.max_key)) == ((expected[0]["id"],), (expected[-1]["id"],))
        assert codec.decode(file.key_stats.min_values) == (expected[0]["id"],)
        sequences = read["_SEQUENCE_NUMBER"].to_pylist()
        assert (file.min_sequence_number, file.max_sequence_number) == (min(sequences), max(sequences))
        assert file.max_sequence_number == len(given_rows) - 1
        assert file.delete_row_count == 0


def can_hold(file_format: str, kind: Kind, values: Sequence[Any]) -> bool:
    """Avro knows no nanoseconds, and ORC mistakes the last second before 1970 for the first one after, as with Java."""
    if kind is KINDS["fine timestamp"]:
        return file_format == "parquet"
    if file_format == "orc" and pa.types.is_timestamp(kind.array([]).type):
        return not any(v is not None and -1_000_000 < v < 0 for v in values)
    return True


def plain(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        return list(column.cast(pa.int64()).to_pylist())
    if pa.types.is_temporal(column.type):
        return list(column.cast(pa.int32()).to_pylist())
    return list(column.to_pylist())


def check_statistics(
    file: DataFileMeta, kinds: dict[str, Kind], expected: list[dict[str, Any]], file_format: str
) -> None:
    fields = file.value_stats_cols or tuple(kinds)
    types = [kinds[c].type for c in fields]
    low = decode_columns(types, [file.value_stats.min_values])
    high = decode_columns(types, [file.value_stats.max_values])
    assert file.value_stats.null_counts is not None
    for i, column in enumerate(fields):
        values = [r[column] for r in expected]
        known = sorted((v for v in values if v is not None), key=key_order)
        assert has_counts(types[i], file_format)
        assert file.value_stats.null_counts[i] == len(values) - len(known)
        bounds = [key_order(plain(pa.chunked_array([a]))[0]) for a in (low[i], high[i])]
        if has_bounds(types[i], file_format) and known:
            numbers = [v for v in known if v == v] or known
            assert bounds == [key_order(numbers[0]), key_order(known[-1])]
        else:
            assert bounds == [(0,), (0,)]


def test_deletes_are_counted_and_kept(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", keys=["id"])
    kinds = [RowKind.INSERT, RowKind.DELETE, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER]
    commits.append(table, written(table, *[(i, "v", "x") for i in range(4)], kinds=kinds))
    ((file),) = [e.file for e in live(table)]
    assert (file.row_count, file.delete_row_count) == (4, 2)
    assert read_file(table, file, ["_VALUE_KIND"])["_VALUE_KIND"].to_pylist() == kinds
    assert sorted(r[0] for r in rows(table)) == [0, 3]


def test_sequence_numbers_go_on_from_commit_to_commit(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"bucket": "2"}, keys=["id", "p"], partitions=["p"])
    ranges: dict[tuple[bytes, int], list[tuple[int, int]]] = {}
    for i in range(3):
        for m in written(again(table), *[(n, f"v{i}", p) for n in range(10) for p in "xy"]):
            ranges.setdefault((m.partition, m.bucket), []).extend(
                (f.min_sequence_number, f.max_sequence_number) for f in m.new_files
            )
            commits.append(again(table), [m])
    assert len(ranges) == 4
    for found in ranges.values():
        assert found[0][0] == 0
        assert all(high + 1 == low for (_, high), (low, _) in pairwise(found))
    assert {r[1] for r in rows(table)} == {"v2"}
    overwrite(table, (1, "new", "x"))
    assert [e.file.min_sequence_number for e in live(table)] == [0]


def test_append_tables_with_buckets_number_their_rows(tmp_path: Path) -> None:
    options = {"bucket": "1", "bucket-key": "id", "target-file-size": "1 b"}
    table = make_table(tmp_path / "t", options)
    insert(table, (1, "a", "x"), (2, "b", "x"))
    insert(table, (3, "c", "x"))
    found = sorted((e.file.min_sequence_number, e.file.max_sequence_number) for e in live(table))
    assert found == [(0, 0), (1, 1), (2, 2)]


@pytest.mark.parametrize(("spillable", "files"), [("false", 2), ("true", 1)])
def test_the_newest_row_of_a_key_wins_within_a_batch_between_flushes_and_between_commits(
    tmp_path: Path, spillable: str, files: int
) -> None:
    options = {"write-buffer-size": "1 b", "write-buffer-spillable": spillable}
    table = make_table(tmp_path / "t", options, keys=["id"])
    first = batch_of(table, [(1, "a", "x"), (1, "b", "x")])
    second = batch_of(table, [(1, "c", "x"), (2, "d", "x")])
    messages = plan_write(table).run([first, second])
    assert [len(m.new_files) for m in messages] == [1] * files
    commits.append(table, messages)
    assert sorted(rows(table)) == [(1, "c", "x"), (2, "d", "x")]
    remove(table, (1, "c", "x"))
    insert(table, (2, "e", "x"))
    assert rows(table) == [(2, "e", "x")]


def test_a_fresh_file_alone_is_read_as_it_is_until_others_hold_its_keys(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"}, keys=["id"])
    insert(table, (1, "a", "x"), (5, "b", "x"))
    assert [s.raw for s in plan(table).splits] == [True]
    insert(table, (7, "c", "x"))
    assert all(s.raw for s in plan(table).splits)
    assert plan(table).counts_rows
    insert(table, (3, "d", "x"))
    assert sorted(s.raw for s in plan(table).splits) == [False, True]
    assert sorted(rows(table)) == [(1, "a", "x"), (3, "d", "x"), (5, "b", "x"), (7, "c", "x")]
    remove(table, (7, "c", "x"))
    assert [s.raw for s in plan(table).splits] == [False]
    assert sorted(rows(table)) == [(1, "a", "x"), (3, "d", "x"), (5, "b", "x")]


# ---- buckets and partitions ------------------------------------------------------------------------------------------


def test_rows_without_buckets_stand_in_bucket_0(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", partitions=["p"])
    insert(table, (1, "a", "x"), (2, "b", "y"))
    assert {(e.bucket, e.total_buckets) for e in live(table)} == {(0, -1)}
    assert data_files(table) == {e.file.file_name for e in live(table)}
    assert (Path(table.path) / "p=x" / "bucket-0").is_dir()


@pytest.mark.parametrize("keys", [[], ["id"]])
def test_every_row_stands_in_the_bucket_of_its_key(tmp_path: Path, keys: list[str]) -> None:
    table = make_table(tmp_path / "t", {"bucket": "5", **({} if keys else {"bucket-key": "id"})}, keys=keys)
    insert(table, *[(i, "v", "x") for i in range(50)])
    found = live(table)
    assert {e.bucket for e in found} == set(range(5))
    for e in found:
        ids = pa.Table.from_batches(DataFileReader(table, e.partition, e.bucket, e.file, ["id"]).batches())
        batch = ids.combine_chunks().to_batches()[0]
        assert set(Router(table.schema, 5).buckets_of(batch)) == {e.bucket}
    assert len(plan(table, Comparison("id", "=", pa.scalar(7, pa.int32()))).splits) == 1
    assert rows(table, Comparison("id", "=", pa.scalar(7, pa.int32()))) == [(7, "v", "x")]


STRANGE = ["", " ", "a/b", "a=b", "é", "日本", "😀", "%", "a\nb", "..", "x" * 100, "null", "'\"\\", "a:b*c?d"]


@pytest.mark.parametrize("keys", [[], ["id", "p"]])
def test_strange_partition_values_come_back(tmp_path: Path, keys: list[str]) -> None:
    table = make_table(tmp_path / "t", keys=keys, partitions=["p"])
    given = [(i, "v", p) for i, p in enumerate(STRANGE) if p.strip()]
    insert(table, *given)
    assert sorted(rows(table)) == given
    for row in given:
        assert rows(table, Comparison("p", "=", pa.scalar(row[2]))) == [row]
    assert len(live(table)) == len(given)


def test_a_null_partition_is_one_of_its_own(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", partitions=["p"])
    insert(table, (1, "a", None), (2, "b", "x"), (3, "c", None))
    assert sorted(rows(table), key=lambda r: r[0]) == [(1, "a", None), (2, "b", "x"), (3, "c", None)]
    assert (Path(table.path) / "p=__DEFAULT_PARTITION__").is_dir()
    assert len(live(table)) == 2


@pytest.mark.parametrize("name", ["int", "date", "boolean", "long decimal", "timestamp", "double", "tinyint"])
def test_partitions_of_every_type_come_back(tmp_path: Path, name: str) -> None:
    kind = KINDS[name]
    columns = [DataField(0, "id", IntType()), DataField(1, "q", kind.type), DataField(2, "s", string_type())]
    table = make_table(tmp_path / "t", columns=columns, partitions=["q", "s"])
    values = SAMPLES[name]
    arrays = [pa.array(range(len(values)), pa.int32()), kind.array(values), pa.array(["s"] * len(values))]
    batch = pa.RecordBatch.from_arrays(arrays, names=["id", "q", "s"])
    commits.append(table, plan_write(table).run([batch]))
    for i, value in enumerate(values):
        assert rows(table, Comparison("q", "=", kind.scalar(value)), ["id"]) == [(i,)]
    assert len(rows(table)) == len(values)


SAMPLES: dict[str, list[Any]] = {
    "int": [-(2**31), -1, 0, 2**31 - 1],
    "date": [-719_162, -141_428, 0, 2_932_896],
    "boolean": [True, False],
    "long decimal": [0, 1, -1],
    "timestamp": [-1, 0, 10**15, 1],
    "double": [0.5, -1.5, 1e300],
    "tinyint": [-128, 127],
}


# ---- edges -----------------------------------------------------------------------------------------------------------


def test_a_wide_table_comes_back(tmp_path: Path) -> None:
    kinds = [IntType(), BigIntType(), DoubleType(), string_type()]
    columns = [DataField(i, f"c{i}", kinds[i % 4]) for i in range(300)]
    table = make_table(tmp_path / "t", columns=columns, keys=["c0"])
    value: list[Callable[[int, int], Any]] = [
        lambda r, i: r,
        lambda r, i: r * i,
        lambda r, i: r / (i + 1),
        lambda r, i: f"{r}-{i}",
    ]
    given = [tuple(value[i % 4](r, i) for i in range(300)) for r in range(20)]
    insert(table, *given)
    insert(table, *given[:5])
    assert sorted(rows(table)) == given
    assert sorted(rows(table, columns=["c299", "c0"])) == sorted((r[299], r[0]) for r in given)
    assert len(live(table)[0].file.value_stats.null_counts or ()) == 300


@pytest.mark.parametrize("keys", [[], ["id"]])
def test_empty_batches_write_nothing(tmp_path: Path, keys: list[str]) -> None:
    table = make_table(tmp_path / "t", keys=keys)
    empty = batch_of(table, [])
    messages = plan_write(table).run([empty, empty])
    assert commits.append(table, messages) == []
    assert not data_files(table)
    messages = plan_write(table).run([empty, batch_of(table, [(1, "a", "x")]), empty])
    commits.append(table, messages)
    assert rows(table) == [(1, "a", "x")]


@pytest.mark.parametrize("partitions", [[], ["p"]])
def test_a_null_key_is_refused_and_nothing_is_left(tmp_path: Path, partitions: list[str]) -> None:
    options = {"write-buffer-size": "1 b"}
    keys = ["id", "p"] if partitions else ["id"]
    table = make_table(tmp_path / "t", options, keys=keys, partitions=partitions)
    good = batch_of(table, [(i, "v", "x") for i in range(10)])
    for bad in [(None, "v", "x"), *([(1, "v", None)] if partitions else [])]:
        with pytest.raises(ConstraintViolationError, match=r"column (id|p) of the primary key is null"):
            plan_write(table).run([good, batch_of(table, [bad])])
        assert not data_files(table)


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_null_in_a_column_that_takes_none_is_refused_and_nothing_is_left(tmp_path: Path, file_format: str) -> None:
    columns = [COLUMNS[0], replace(COLUMNS[1], type=string_type(False)), COLUMNS[2]]
    table = make_table(tmp_path / "t", {"file.format": file_format}, columns=columns)
    with pytest.raises(ConstraintViolationError):
        plan_write(table).run([batch_of(table, [(1, "a", "x"), (2, None, "x")])])
    assert not data_files(table)


@pytest.mark.parametrize("file_format", ["parquet", "avro"])
@pytest.mark.parametrize("keys", [[], ["id"]])
def test_an_error_among_the_rows_leaves_nothing(tmp_path: Path, file_format: str, keys: list[str]) -> None:
    options = {"file.format": file_format, "target-file-size": "1 kb", "write-buffer-size": "1 kb"}
    table = make_table(tmp_path / "t", {**options, "write-buffer-spillable": "false"}, keys=keys)
    seen = 0

    def failing() -> Iterator[pa.RecordBatch]:
        nonlocal seen
        for i in range(5):
            yield batch_of(table, [(j, f"{i}-{j}" * 10, "x") for j in range(200)])
        seen = len(data_files(table))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plan_write(table).run(failing())
    assert seen > 1
    assert not data_files(table)


def test_a_writer_whose_files_cannot_be_deleted_keeps_no_other_from_deleting_its_own() -> None:
    aborted: list[str] = []

    @dataclass
    class Writer:
        name: str

        def abort(self) -> None:
            aborted.append(self.name)
            raise OSError("no answer")

    with pytest.raises(OSError, match="no answer"), aborted_on_error(Writer("a"), Writer("b")):
        raise KeyboardInterrupt
    assert aborted == ["a", "b"]


def test_a_value_that_does_not_fit_its_column_is_refused_by_name(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    wide = pa.RecordBatch.from_pydict({"a": pa.array([2**40]), "b": ["v"], "c": ["x"]})
    with pytest.raises(InvalidInputError, match="Column 'id' cannot take"):
        plan_write(table).run([wide])
    with pytest.raises(InvalidInputError, match="2 columns were given for the 3 columns"):
        plan_write(table).run([wide.select(["a", "b"])])
    fits = pa.RecordBatch.from_pydict({"a": pa.array([7]), "b": pa.array(["v"]).dictionary_encode(), "c": ["x"]})
    commits.append(table, plan_write(table).run([fits]))
    assert rows(table) == [(7, "v", "x")]


def test_a_write_task_travels(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", keys=["id"])
    insert(table, (1, "a", "x"))
    task = pickle.loads(pickle.dumps(plan_write(again(table))))
    messages = pickle.loads(pickle.dumps(task.run([batch_of(table, [(1, "b", "x")])])))
    commits.append(again(table), messages)
    assert rows(table) == [(1, "b", "x")]
    assert arrow_schema(table.schema.fields).names == ["id", "v", "p"]


def test_a_table_travels_whatever_it_remembers(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", keys=["id", "p"], partitions=["p"])
    insert(table, (1, "a", "x"))
    assert rows(table) == [(1, "a", "x")] and table.options and table.schemas.all()
    table.tags.all(), table.branches.all(), table.consumers.all()
    arrived = pickle.loads(pickle.dumps(table))
    assert replace(arrived, file_io=table.file_io) == table
    assert set(vars(arrived)) == {*(f.name for f in fields(table)), "schemas"} - {"executor"}
    assert arrived.executor is None  # who reads for a process is the process's own
    insert(again(table), (1, "b", "x"))
    assert rows(arrived) == [(1, "b", "x")]
