"""File indexes: who makes them, which files and rows reads leave out by them, and what becomes of their files."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.file_index.container import IndexLocation
from paimon_sql.format.schema.system_fields import RowKind
from paimon_sql.format.schema.types import BigIntType, DataField, DoubleType, IntType, MapType, string_type
from paimon_sql.storage.data_files.pruning.file_indexes import held_indexes
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.expressions.predicates import And, Comparison, In, OfMapKey, Or, Predicate
from paimon_sql.storage.indexes.file_indexes import rebuild_file_indexes
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.read.readers.data_file import DataFileReader
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.table.table import Table
from tests.storage import commits
from tests.storage.core_tables import (
    Row,
    again,
    compact,
    data_files,
    insert,
    live,
    make_table,
    plan,
    rows,
    triggered,
    written,
)
from tests.storage.predicate_model import predicates
from tests.storage.sample_values import Kind

COLUMNS = (
    DataField(0, "id", IntType()),
    DataField(1, "v", string_type()),
    DataField(2, "n", BigIntType()),
    DataField(3, "d", DoubleType()),
)
INDEXES = {
    "file-index.bloom-filter.columns": "id,v,n,d",
    "file-index.bitmap.columns": "id,v,n,d",
    "file-index.bsi.columns": "id,n",
    "file-index.range-bitmap.columns": "id,v,n,d",
    "file-index.bloom-filter.id.items": "20",
    "file-index.bloom-filter.v.items": "20",
    "file-index.bloom-filter.n.items": "20",
    "file-index.bloom-filter.d.items": "20",
}
BESIDE = {"file-index.in-manifest-threshold": "1 b"}
INSIDE = {"file-index.in-manifest-threshold": "1 mb"}
KINDS = {
    "id": Kind(IntType(), st.integers(0, 6)),
    "v": Kind(string_type(), st.sampled_from(["", "a", "b", "ab", "é" * 20])),
    "n": Kind(BigIntType(), st.integers(-3, 3) | st.just(2**62)),
    "d": Kind(DoubleType(), st.sampled_from([0.0, -0.0, 1.5, float("nan")])),
}
TABLES: dict[str, tuple[list[str], dict[str, str]]] = {
    "append": ([], {}),
    "deduplicate": (["id"], {}),
    "key of two": (["id", "v"], {"bucket": "2"}),
    "partial-update": (["id"], {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}),
    "first-row": (["id"], {"merge-engine": "first-row", "ignore-delete": "true"}),
    "deletion vectors": (["id"], {"deletion-vectors.enabled": "true"}),
    "thin": (["id"], {"data-file.thin-mode": "true"}),
}
NULLS = {"id": 0, "v": "", "n": None, "d": None}


def int_is(column: str, operator: str, value: int) -> Comparison:
    return Comparison(column, operator, pa.scalar(value, pa.int64() if column == "n" else pa.int32()))


def indexes_of(table: Table) -> list[list[IndexLocation]]:
    """The indexes of each live file."""
    found = []
    for e in live(table):
        with held_indexes(again(table), e.partition, e.bucket, e.file) as held:
            found.append(list(held.places) if held is not None else [])
    return found


def named(table: Table) -> set[str]:
    return {f"{place.kind} {place.column}" for of_file in indexes_of(table) for place in of_file}


def index_files(table: Table) -> set[str]:
    return {name for name in data_files(table) if name.endswith(".index")}


@pytest.mark.parametrize("kind", TABLES)
@settings(max_examples=10)
@given(data=st.data())
def test_reads_find_the_same_rows_with_indexes_and_without(kind: str, data: st.DataObject) -> None:
    keys, options = TABLES[kind]
    place = data.draw(st.sampled_from([BESIDE, INSIDE]), "place")
    with tempfile.TemporaryDirectory() as folder:
        table = make_table(Path(folder), {**INDEXES, **place, **options}, columns=COLUMNS, keys=keys)
        for _ in range(data.draw(st.integers(1, 4), "commits")):
            new = [drawn(data, keys) for _ in range(data.draw(st.integers(1, 4), "rows"))]
            what = data.draw(st.sampled_from(["insert", "insert", "delete", "compact"])) if keys else "insert"
            if what == "delete":
                commits.append(again(table), written(table, *new, kinds=[RowKind.DELETE] * len(new)))
            elif what == "compact" and again(table).snapshots.latest():
                compact(table)
            else:
                messages = written(table, *new)
                commits.append(again(table), [*messages, *(triggered(table, messages) if keys else [])])
        for _ in range(3):
            predicate = data.draw(predicates(KINDS), "predicate")
            plain = again(table, {"file-index.read.enabled": "false"})
            assert shown(rows(table, predicate)) == shown(rows(plain, predicate))


def drawn(data: st.DataObject, keys: list[str]) -> Row:
    """A row whose key is not null."""
    return tuple(data.draw(k.values if name in keys else st.none() | k.values) for name, k in KINDS.items())


def shown(found: list[Row]) -> list[str]:
    return sorted(map(repr, found))


@pytest.mark.parametrize("place", [BESIDE, INSIDE], ids=["beside", "inside"])
@pytest.mark.parametrize("keys", [[], ["id"]], ids=["append", "keyed"])
def test_files_without_a_wanted_row_are_left_out(tmp_path: Path, place: Mapping[str, str], keys: list[str]) -> None:
    table = make_table(tmp_path, {**INDEXES, **place, "write-only": "true"}, columns=COLUMNS, keys=keys)
    for first in (0, 10, 20):
        insert(table, (first, "a", first, 0.5), (first + 1, "b", None, 1.5), (first + 8, "c", first + 8, None))
    for predicate, files in (
        (int_is("n", "=", 18), 1),
        (int_is("n", "=", 5), 0),
        (int_is("n", "<", 8), 1),
        (In("n", pa.array([0, 12, 28], pa.int64())), 2),
        (And((int_is("n", ">", 0), Comparison("v", "=", pa.scalar("a")))), 2),
        (Comparison("v", "!=", pa.scalar("a")), 3),
        (int_is("id", "=", 14), 0),
    ):
        found = plan(table, predicate)
        assert sum(len(s.files) for s in found.splits) == found.metrics.files_read == files
        assert found.metrics.bytes_read == sum(s.size for s in found.splits)
        assert bool(rows(table, predicate)) is bool(files)


def test_an_old_version_of_a_row_is_never_taken_for_the_newest(tmp_path: Path) -> None:
    table = make_table(tmp_path, {**INDEXES, **INSIDE, "write-only": "true"}, columns=COLUMNS, keys=["id"])
    insert(table, (1, "old", 1, None), (3, "x", 1, None))
    insert(table, (1, "new", 2, None), (2, "x", 2, None))
    assert rows(table, Comparison("v", "=", pa.scalar("old"))) == []
    assert [r[0] for r in rows(table, Comparison("v", "=", pa.scalar("new")))] == [1]
    assert plan(table, Comparison("v", "=", pa.scalar("none"))).splits == []
    (split,) = plan(table, int_is("id", "=", 2)).splits
    assert len(split.files) == 1


def test_every_writer_makes_indexes_and_changelogs_have_none(tmp_path: Path) -> None:
    options = {**INDEXES, **INSIDE, "changelog-producer": "input", "write-only": "true"}
    table = make_table(tmp_path, options, columns=COLUMNS, keys=["id"])
    insert(table, (1, "a", 1, None))
    insert(table, (1, "b", 2, None))
    asked = {"bloom-filter": "id v n d", "bitmap": "id v n d", "bsi": "id n", "range-bitmap": "id v n d"}
    wanted = {f"{kind} {column}" for kind, columns in asked.items() for column in columns.split()}
    assert named(table) == wanted
    compact(table)
    assert len(live(table)) == 1 and named(table) == wanted
    (message,) = written(table, (5, "c", 3, None))
    assert message.new_files[0].embedded_index and not message.changelog_files[0].embedded_index


def test_values_under_the_keys_of_a_map_are_indexed(tmp_path: Path) -> None:
    columns = (DataField(0, "id", IntType()), DataField(1, "m", MapType(True, string_type(False), IntType())))
    options = {"file-index.bitmap.columns": "m[a],m[b]", **INSIDE}
    table = make_table(tmp_path, options, columns=columns)
    insert(table, (1, [("a", 1), ("b", 2)]), (2, None), (3, []), (4, [("a", 1)]))
    insert(table, (5, [("a", 2)]))
    assert [[p.column for p in of_file] for of_file in indexes_of(table)] == [["m[a]", "m[b]"]] * 2
    for value, files, found in ((1, 1, [1, 4]), (2, 1, [5]), (3, 0, [])):
        wanted = OfMapKey("m", "a", int_is(OfMapKey.VALUE, "=", value))
        assert plan(table, wanted).metrics.files_read == files
        assert sorted(r[0] for r in rows(table, wanted)) == found
    assert plan(table, OfMapKey("m", "b", int_is(OfMapKey.VALUE, "=", 2))).metrics.files_read == 1


def test_a_column_that_cannot_have_an_index_goes_without(tmp_path: Path) -> None:
    table = make_table(tmp_path, {"file-index.bsi.columns": "n", **INSIDE}, columns=COLUMNS)
    insert(table, (1, "a", -(2**63), None))
    assert indexes_of(table) == [[]]
    assert len(rows(table, int_is("n", "<", 0))) == 1


def test_only_a_stretch_of_a_big_file_is_read(tmp_path: Path) -> None:
    table = make_table(tmp_path, {"file-index.bitmap.columns": "n", **BESIDE}, columns=COLUMNS)
    insert(table, *((i, None, i // 30_000, None) for i in range(90_000)))
    assert len(rows(table, int_is("n", "=", 1))) == 30_000
    read = sum(b.num_rows for b in batches(table, int_is("n", "=", 1)))
    assert 30_000 <= read < 40_000


def batches(table: Table, predicate: Predicate) -> list[pa.RecordBatch]:
    (e,) = live(table)
    return list(DataFileReader(again(table), e.partition, e.bucket, e.file, ["id"], predicate=predicate).batches())


SMALL_GROUPS = {"parquet.block.size": "64 kb", "file.format": "parquet"}


def test_a_lookup_by_bloom_filter_reads_other_columns_of_few_rows_only(tmp_path: Path) -> None:
    table = make_table(tmp_path, {"file-index.bloom-filter.columns": "n", **BESIDE, **SMALL_GROUPS}, columns=COLUMNS)
    insert(table, *((i, f"row {i}", i * 7, None) for i in range(40_000)))
    assert rows(table, int_is("n", "=", 7 * 30_001)) == [(30_001, "row 30001", 7 * 30_001, None)]
    read = batches(table, int_is("n", "=", 7 * 30_001))
    assert sum(b.num_rows for b in read) < 9_000
    assert rows(table, In("n", pa.array([7, 14, 70_000_000], pa.int64()))) == [
        (1, "row 1", 7, None),
        (2, "row 2", 14, None),
    ]
    assert rows(table, And((int_is("n", "=", 7), int_is("id", "=", 2)))) == []


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
@settings(max_examples=15)
@given(data=st.data())
def test_lookups_by_bloom_filter_find_the_rows_that_scans_find(file_format: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        options = {"file-index.bloom-filter.columns": "n,v", **SMALL_GROUPS, "file.format": file_format}
        table = make_table(Path(folder), options, columns=COLUMNS, partitions=["id"])
        for part in range(2):
            values = data.draw(st.lists(st.none() | st.integers(0, 300), min_size=1, max_size=400), "values")
            insert(table, *((part, None if n is None else f"é{n % 7}", n, n) for n in values))
        wanted = data.draw(st.lists(st.integers(-1, 301), min_size=1, max_size=5), "wanted")
        numbers = In("n", pa.array(wanted, pa.int64()))
        texts = Comparison("v", "=", pa.scalar(f"é{wanted[0] % 7}"))
        plain = again(table, {"file-index.read.enabled": "false"})
        for predicate in (numbers, And((numbers, texts)), Or((numbers, texts)), And((numbers, int_is("id", "=", 1)))):
            assert shown(rows(table, predicate)) == shown(rows(plain, predicate))


def test_plans_say_how_many_rows_file_indexes_find(tmp_path: Path) -> None:
    table = make_table(
        tmp_path, {"file-index.bitmap.columns": "v", "file-index.bloom-filter.columns": "n", **BESIDE}, columns=COLUMNS
    )
    for first in (0, 1000):
        insert(table, *((i, f"{i % 100}", i // 2, None) for i in range(first, first + 1000)))
    texts, numbers = Comparison("v", "=", pa.scalar("7")), In("n", pa.array([3, 4], pa.int64()))
    for predicate, low, high, most in (
        (texts, 20, 20, 20),
        (numbers, 3.5, 4.5, None),
        (And((texts, numbers)), 10, 10, 10),
        (Or((texts, numbers)), 23, 25, None),
    ):
        found = plan(table, predicate).indexed_rows
        assert found is not None
        assert low <= found.expected <= high
        assert found.most == most
    assert plan(table, int_is("id", "=", 3)).indexed_rows is None
    assert plan(table, Or((texts, int_is("id", "=", 3)))).indexed_rows is None


@pytest.mark.parametrize("defect", ["gone", "broken"])
def test_an_index_that_cannot_be_read_is_done_without(tmp_path: Path, defect: str) -> None:
    table = make_table(tmp_path, {**INDEXES, **BESIDE}, columns=COLUMNS)
    insert(table, (1, "a", 1, None))
    (path,) = tmp_path.rglob("*.index")
    path.unlink() if defect == "gone" else path.write_bytes(path.read_bytes()[:90])
    assert len(rows(table, int_is("n", "=", 1))) == 1


def rewrite(table: Table) -> int:
    messages = rebuild_file_indexes(again(table), live(table), LocalExecutor())
    commits.compact(again(table), messages)
    return len(messages)


@pytest.mark.parametrize("place", [BESIDE, INSIDE], ids=["beside", "inside"])
@pytest.mark.parametrize("keys", [[], ["id"]], ids=["append", "keyed"])
def test_indexes_are_made_changed_and_removed_for_files_that_are_there(
    tmp_path: Path, place: Mapping[str, str], keys: list[str]
) -> None:
    table = make_table(tmp_path, {"write-only": "true"}, columns=COLUMNS, keys=keys)
    insert(table, (1, "a", 1, None), (2, "b", 2, None))
    insert(table, (3, "c", 3, None))
    before, plain = shown(rows(table)), table.schema
    assert rewrite(table) == 0
    table = again(table, {**INDEXES, **place})
    assert rewrite(table) == 2
    assert plan(table, int_is("n", "=", 3)).metrics.files_read == 1
    assert rewrite(table) == (0 if place is INSIDE else 2)
    assert len(index_files(table)) == (0 if place is INSIDE else 4)
    fewer = under(table, {**plain.options, "file-index.bitmap.columns": "v"})
    assert rewrite(fewer) == 2
    assert named(fewer) == {"bitmap v"}
    assert rewrite(under(table, plain.options)) == 2
    assert (indexes_of(table), shown(rows(table))) == ([[], []], before)


def under(table: Table, options: Mapping[str, str]) -> Table:
    """The table under these options alone."""
    return Table(table.name, table.path, table.file_io, replace(table.schema, options=dict(options)))


def test_indexes_made_anew_are_those_of_the_columns_of_their_time(tmp_path: Path) -> None:
    table = make_table(tmp_path, columns=COLUMNS)
    insert(table, (1, "a", 1, None))
    changed = (DataField(1, "w", string_type()), DataField(2, "n", IntType()), DataField(4, "d", DoubleType()))
    options = {f"file-index.{kind}.columns": "w,n,d" for kind in ("bitmap", "range-bitmap")} | INSIDE
    schema = replace(table.schema, id=1, fields=(COLUMNS[0], *changed), options={**table.schema.options, **options})
    assert table.schemas.try_add(schema)
    table = Table(table.name, table.path, table.file_io, schema)
    insert(table, (2, "b", 2, None))
    assert rewrite(table) == 1
    assert sorted(sorted(p.column for p in of_file if p.kind == "bitmap") for of_file in indexes_of(table)) == [
        ["d", "n", "w"],
        ["n", "v"],
    ]
    assert plan(table, Comparison("w", "=", pa.scalar("a"))).metrics.files_read == 1
    assert [r[0] for r in rows(table, Comparison("w", "=", pa.scalar("a")))] == [1]


def test_a_rewrite_that_a_rival_was_quicker_than_leaves_nothing_behind(tmp_path: Path) -> None:
    table = make_table(tmp_path, {"write-only": "true"}, columns=COLUMNS, keys=["id"])
    insert(table, (1, "a", 1, None))
    insert(table, (1, "b", 2, None))
    table = again(table, {**INDEXES, **BESIDE})
    messages = rebuild_file_indexes(again(table), live(table), LocalExecutor())
    assert len(index_files(table)) == 2
    compact(again(table, {"file-index.in-manifest-threshold": "1 mb"}))
    with pytest.raises(CommitConflictError, match="removed by another job"):
        commits.compact(again(table), messages)
    assert index_files(table) == set()
    assert len(rows(table)) == 1


def test_index_files_go_with_their_last_snapshot(tmp_path: Path) -> None:
    table = make_table(tmp_path, {**INDEXES, **BESIDE, "write-only": "true"}, columns=COLUMNS)
    insert(table, (1, "a", 1, None))
    rewrite(table)
    rewrite(table)
    assert len(index_files(table)) == 3
    expire_snapshots(again(table), Retention(1, 1, 2**62, 50))
    (e,) = live(table)
    assert index_files(table) == set(e.file.extra_files)
    assert len(rows(table, int_is("n", "=", 1))) == 1
    assert rebuild_file_indexes(again(table), live(table), LocalExecutor(), dry_run=True)
    assert len(index_files(table)) == 1


def test_deleted_rows_keep_their_places_in_an_index_made_anew(tmp_path: Path) -> None:
    table = make_table(
        tmp_path, {"deletion-vectors.enabled": "true", "write-only": "true"}, columns=COLUMNS, keys=["id"]
    )
    commits.append(again(table), written(table, *((i, "a", i, None) for i in range(5))))
    compact(table)
    commits.append(again(table), written(table, (2, None, None, None), kinds=[RowKind.DELETE]))
    compact(table)
    table = again(table, {**INDEXES, **INSIDE})
    rewrite(table)
    assert [r[0] for r in rows(table, int_is("n", "=", 3))] == [3]
    assert rows(table, int_is("n", "=", 2)) == []
