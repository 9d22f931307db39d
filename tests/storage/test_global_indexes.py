"""Global indexes at the storage core: what cannot be wanted is left out and nothing else, whatever befalls a table."""

from __future__ import annotations

import shutil
import struct
import tempfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import CommitConflictError, InvalidInputError, UnsupportedError
from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.format.schema.types import ArrayType, BigIntType, DataField, DoubleType, IntType, string_type
from paimon_sql.storage.branches.management import create_branch
from paimon_sql.storage.compact.compaction import plan_table
from paimon_sql.storage.compact.layouts.data_evolution import plan_materialization, run_evolved
from paimon_sql.storage.data_files.live_files import bucketed_groups
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.expressions.predicates import And, Comparison, In, IsNull, Or, Predicate, StartsWith
from paimon_sql.storage.indexes.drop_global_index import index_files_of, indexes_unchanged, outdated_indexes
from paimon_sql.storage.indexes.global_index import IndexPlan, build_index, drop_messages, index_column, plan_index
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.maintenance.orphans.removal import find_orphans, remove_orphans
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags
from paimon_sql.storage.operations.row_id_reassignment import RowIdReassigner
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.row_level.columns import ColumnTask
from paimon_sql.storage.row_level.vectors import mark
from paimon_sql.storage.scan.global_index.entries import global_entries, meta_of
from paimon_sql.storage.scan.global_index.lookup import IndexResults
from paimon_sql.storage.scan.plan import ScanPlan, plan_scan
from paimon_sql.storage.schema.changes.alter_columns import RenameColumn
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.schema.changes.column_types import UpdateColumnType
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.staging.proposal import Proposal
from paimon_sql.storage.table.index_files import index_path
from paimon_sql.storage.table.table import Table
from tests.storage import commits
from tests.storage.core_tables import again, batch_of, files_below, insert, live, make_table, overwrite

COLUMNS = (
    DataField(0, "id", IntType()),
    DataField(1, "v", string_type()),
    DataField(2, "p", string_type()),
    DataField(3, "d", DoubleType()),
    DataField(4, "a", ArrayType(True, IntType())),
)
OPTIONS = {
    "row-tracking.enabled": "true",
    "data-evolution.enabled": "true",
    "deletion-vectors.enabled": "true",
    "compaction.min.file-num": "2",
    "btree-index.block-size": "100 b",
    "bitmap-index.dictionary-block-size": "100 b",
}
KINDS = ("btree", "bitmap")


def evolving(path: Path, options: Mapping[str, str] | None = None, partitions: Sequence[str] = ()) -> Table:
    return make_table(path / "t", {**OPTIONS, **(options or {})}, columns=COLUMNS, partitions=partitions)


def fill(table: Table, ids: Collection[int], p: str = "x") -> Snapshot:
    """Rows of which every seventh has no value."""
    return insert(table, *((i, None if i % 7 == 0 else f"v{i % 20:02}", p, i / 2, [i]) for i in ids))


def planned(table: Table, column: str, kind: str, partitions: Predicate | None = None) -> IndexPlan:
    table = again(table)
    return plan_index(table, index_column(table, column, kind), table.snapshots.latest(), partitions)


def build(table: Table, column: str, kind: str = "btree", partitions: Predicate | None = None) -> int:
    """Build an index; how many rows that are."""
    plan = planned(table, column, kind, partitions)
    commits.change_indexes(again(table), build_index(again(table), LocalExecutor(), plan))
    return plan.rows


def drop(table: Table, column: str, kind: str = "btree") -> Snapshot | None:
    return commits.change_indexes(again(table), drop_messages(index_files_of(again(table), column, kind, None)))


def ask(table: Table, predicate: Predicate, *, thorough: bool = False) -> ScanPlan:
    return plan_scan(again(table), predicate, answers=IndexResults(predicate, thorough=thorough))


def ids(table: Table, predicate: Predicate, *, thorough: bool = False) -> list[int]:
    plan = ask(table, predicate, thorough=thorough)
    tasks = [ReadTask(plan.table, split, ("id",), predicate) for split in plan.splits]
    return sorted(i for task in tasks for batch in task.batches() for i in batch.column("id").to_pylist())


def every(table: Table, predicate: Predicate) -> list[int]:
    """The same without indexes."""
    return ids(again(table, {"global-index.enabled": "false"}), predicate)


def changed(table: Table, column: str, rows: Mapping[int, Any]) -> Any:
    table = again(table)
    schema = batch_of(table, []).schema
    arrays = [pa.array(list(rows.values()), schema.field(column).type), pa.array(list(rows), pa.int64())]
    groups = tuple(bucketed_groups(table, table.snapshots.latest()))
    return list(ColumnTask(table, (column,), groups).run([pa.RecordBatch.from_arrays(arrays, [column, ROW_ID.name])]))


def update(table: Table, column: str, rows: Mapping[int, Any]) -> Snapshot:
    """Set a column of rows, by their ids, whatever indexes there are."""
    return commits.append(again(table), changed(table, column, rows))[-1]


def delete(table: Table, *row_ids: int) -> Snapshot:
    table = again(table)
    base = table.snapshots.latest()
    gone = []
    for placed in bucketed_groups(table, base):
        first, count = placed.group.first_row_id, placed.group.row_count
        places = [i - first for i in row_ids if first <= i < first + count]
        if places:
            entry = next(e for e in live(table) if e.file.file_name == placed.group.anchor.file_name)
            gone.append((entry, DeletionVector(places)))
    return commits.append(table, mark(table, base, gone))[-1]


def v(value: str, operator: str = "=") -> Comparison:
    return Comparison("v", operator, pa.scalar(value))


def ranges(table: Table) -> list[tuple[int, int]]:
    table = again(table)
    metas = map(meta_of, global_entries(table, table.snapshots.latest()))
    return sorted((m.row_range_start, m.row_range_end) for m in metas)


def index_files(table: Table) -> set[str]:
    return {name for name in files_below(table) if "-global-index-" in name}


@pytest.mark.parametrize("kind", KINDS)
def test_a_look_up_reads_the_rows_that_the_index_tells(tmp_path: Path, kind: str) -> None:
    table = evolving(tmp_path)
    fill(table, range(100))
    fill(table, range(100, 200))
    assert ask(table, v("v03")).rows_from_indexes is None
    assert build(table, "v", kind) == 200
    assert ranges(table) == [(0, 199)]
    for predicate, rows, files in (
        (v("v03"), 9, 2),
        (In("v", pa.array(["v03", "zzz"])), 9, 2),
        (IsNull("v"), 29, 2),
        (StartsWith("v", "v0"), 84, 2),
        (v("v18", ">"), 9, 2),
        (v("zzz"), 0, 0),
        (And((v("v03"), Comparison("id", "<", pa.scalar(50)))), 4, 1),
    ):
        plan = ask(table, predicate)
        assert (plan.rows_from_indexes or 0, plan.metrics.files_read) == (rows, files), str(predicate)
        assert ids(table, predicate) == every(table, predicate)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_came_later_are_found_and_then_indexed_alone(tmp_path: Path, kind: str) -> None:
    table = evolving(tmp_path)
    fill(table, range(50))
    build(table, "v", kind)
    fill(table, range(50, 60))
    assert ask(table, v("v15")).rows_from_indexes == 1 + 10
    assert ids(table, v("v15")) == every(table, v("v15")) == [15, 55]
    assert build(table, "v", kind) == 10
    assert ranges(table) == [(0, 49), (50, 59)]
    assert ask(table, v("v15")).rows_from_indexes == 2
    assert build(table, "v", kind) == 0


def test_a_fast_search_looks_at_indexed_rows_only_and_changes_of_rows_never_do(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    fill(table, range(50))
    build(table, "v")
    fill(table, range(50, 60))
    for options in ({"scalar-index.search-mode": "fast"}, {"global-index.search-mode": "fast"}):
        assert ids(again(table, options), v("v15")) == [15]
        assert ids(again(table, options), v("v15"), thorough=True) == [15, 55]
    overruled = {"global-index.search-mode": "fast", "scalar-index.search-mode": "full"}
    assert ids(again(table, overruled), v("v15")) == [15, 55]


def test_indexes_can_be_switched_off(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    fill(table, range(50))
    build(table, "v")
    assert ask(again(table, {"global-index.enabled": "false"}), v("v03")).rows_from_indexes is None


def test_values_changed_since_are_found_and_their_index_is_built_anew(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    fill(table, range(40))
    fill(table, range(40, 80))
    build(table, "v")
    build(table, "d")
    update(table, "v", {3: "new", 41: "new"})
    assert ids(table, v("new")) == [3, 41]
    assert ids(table, v("v03")) == [23, 43]
    assert ids(table, Comparison("d", "=", pa.scalar(1.5))) == [3]
    assert ask(table, Comparison("d", "=", pa.scalar(1.5))).rows_from_indexes == 1
    plan = planned(table, "v", "btree")
    assert (plan.rows, len(plan.replaced)) == (80, 1)
    build(table, "v")
    assert ask(table, v("new")).rows_from_indexes == 2
    assert build(table, "v") == 0


def test_what_an_update_of_an_indexed_column_does_is_the_tables_choice(tmp_path: Path) -> None:
    table = evolving(tmp_path, partitions=["p"])
    fill(table, range(10), "x")
    fill(table, range(10, 20), "y")
    build(table, "v")
    base, messages = again(table).snapshots.latest(), changed(table, "v", {3: "new"})
    with pytest.raises(InvalidInputError, match="v cannot be changed, because it has a global index"):
        outdated_indexes(again(table), base, messages, ["v"])
    assert outdated_indexes(again(table), base, messages, ["d"]) == []
    assert outdated_indexes(again(table), base, [], ["v"]) == []
    lenient = again(table, {"global-index.column-update-action": "IGNORE"})
    assert outdated_indexes(lenient, base, messages, ["v"]) == []
    dropping = again(table, {"global-index.column-update-action": "drop_partition_index"})
    gone = outdated_indexes(dropping, base, messages, ["v"])
    assert [meta_of(e).row_range_start for e in gone] == [0]
    commits.append(again(table), [*messages, *drop_messages(gone)])
    assert ranges(table) == [(10, 19)]
    assert ids(table, v("new")) == [3]


def test_an_index_built_while_its_column_is_changed_is_a_conflict(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    fill(table, range(10))
    base, messages = again(table).snapshots.latest(), changed(table, "v", {3: "new"})
    proposal = Proposal(again(table), base, base, CommitKind.APPEND, Changes())
    indexes_unchanged(messages, ["v"]).check(proposal)
    build(table, "v")
    proposal = replace(proposal, table=again(table), latest=again(table).snapshots.latest())
    indexes_unchanged(messages, ["d"]).check(proposal)
    with pytest.raises(CommitConflictError, match="was built while the statement ran"):
        indexes_unchanged(messages, ["v"]).check(proposal)


def test_deleted_rows_are_not_indexed_and_stay_deleted(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    fill(table, range(40))
    delete(table, 3)
    build(table, "v")
    delete(table, 23)
    assert ask(table, v("v03")).rows_from_indexes == 1
    assert ids(table, v("v03")) == []


@pytest.mark.parametrize("records", ["1", "10", "25"])
@pytest.mark.parametrize("kind", KINDS)
def test_many_rows_get_files_by_their_keys(tmp_path: Path, kind: str, records: str) -> None:
    table = evolving(tmp_path, {"sorted-index.records-per-range": records})
    fill(table, range(60))
    fill(table, range(60, 100))
    assert build(table, "v", kind) == 100
    assert set(ranges(table)) == {(0, 99)}
    assert len(ranges(table)) >= 100 // (int(records) * 2)
    for predicate in (v("v03"), IsNull("v"), v("v10", "<"), In("v", pa.array(["v03", "v04"])), v("v03", "!=")):
        assert ids(table, predicate) == every(table, predicate)
        assert ask(table, predicate).rows_from_indexes == len(every(table, predicate))


def test_partitions_are_indexed_and_dropped_one_by_one(tmp_path: Path) -> None:
    table = evolving(tmp_path, partitions=["p"])
    for p in "xyx":
        fill(table, range(10), p)
    x = Comparison("p", "=", pa.scalar("x"))
    assert build(table, "v", partitions=x) == 20
    assert ranges(table) == [(0, 9), (20, 29)]
    assert ask(table, v("v03")).rows_from_indexes == 2 + 10
    assert ask(table, And((v("v03"), x))).rows_from_indexes == 2
    assert build(table, "v") == 10
    assert [meta_of(e).row_range_start for e in index_files_of(again(table), "v", "btree", x)] == [0, 20]
    assert (
        commits.change_indexes(again(table), drop_messages(index_files_of(again(table), "v", "btree", x))) is not None
    )
    assert ranges(table) == [(10, 19)]


def test_conditions_on_several_columns_are_put_together(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    fill(table, range(100))
    build(table, "v", "bitmap")
    build(table, "id")
    few = Comparison("id", "<", pa.scalar(30))
    assert ask(table, And((v("v03"), few))).rows_from_indexes == 2
    assert ask(table, Or((v("v03"), few))).rows_from_indexes == 32
    assert ask(table, Or((v("v03"), Comparison("d", "<", pa.scalar(3.0))))).rows_from_indexes is None
    assert ask(table, And((v("v03"), Comparison("d", "<", pa.scalar(3.0))))).rows_from_indexes == 4


def test_a_wide_search_of_a_great_index_is_left_out(tmp_path: Path) -> None:
    table = evolving(tmp_path, {"btree-index.fallback-scan-max-size": "1 b"})
    fill(table, range(100))
    build(table, "v")
    assert ask(table, v("v03", "<")).rows_from_indexes is None
    assert ask(table, v("v03")).rows_from_indexes == 4


def test_zeros_and_nan_are_found_as_sql_compares_them(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    numbers = [0.0, -0.0, float("nan"), 1.0, float("-inf"), None]
    insert(table, *((i, "v", "x", d, None) for i, d in enumerate(numbers)))
    build(table, "d")
    for operator in ("=", "<", "<=", ">", ">=", "!="):
        for value in (0.0, -0.0, float("nan"), 1.0):
            predicate = Comparison("d", operator, pa.scalar(value))
            assert ids(table, predicate) == every(table, predicate), str(predicate)
            assert ask(table, predicate).rows_from_indexes in (None, len(every(table, predicate)))


def test_a_renamed_column_keeps_its_index_and_one_of_another_type_does_not(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    fill(table, range(40))
    build(table, "id")
    build(table, "v")
    changes = [RenameColumn(("v",), "w"), UpdateColumnType(("id",), BigIntType())]
    schema = apply_changes(table.schema, changes, has_data=True, case_sensitive=True)
    assert table.schemas.try_add(schema)
    table = replace(again(table), schema=schema)
    assert ask(table, Comparison("w", "=", pa.scalar("v03"))).rows_from_indexes == 2
    one = Comparison("id", "=", pa.scalar(3, pa.int64()))
    assert ask(table, one).rows_from_indexes is None
    assert ids(table, one) == [3]
    insert(table, (40, "v", "x", 1.0, None))
    assert build(table, "id") == 41
    assert ask(table, one).rows_from_indexes == 1


def test_compaction_keeps_indexes_and_new_row_ids_drop_or_move_them(tmp_path: Path) -> None:
    table = evolving(tmp_path, partitions=["p"])
    for p in "xxyx":
        fill(table, range(10), p)
    build(table, "v")
    compacting = again(table)
    assert commits.compact(compacting, plan_table(compacting, full=True).run(LocalExecutor())) is not None
    assert ask(table, v("v03")).rows_from_indexes == 4
    RowIdReassigner(again(table)).run(None)
    assert ids(table, v("v03")) == every(table, v("v03")) == [3, 3, 3, 3]
    assert ask(table, v("v03")).rows_from_indexes == 4
    assert ranges(table) == [(20, 29), (40, 59), (60, 69)]
    delete(table, 20)
    materializing = again(table)
    base = materializing.snapshots.latest()
    tasks = plan_materialization(materializing, base)
    commits.compact(materializing, run_evolved(materializing, LocalExecutor(), base, tasks))
    assert len(ranges(table)) == 2
    assert ids(table, v("v03")) == every(table, v("v03"))


def test_overwritten_partitions_lose_their_indexes(tmp_path: Path) -> None:
    table = evolving(tmp_path, partitions=["p"])
    fill(table, range(10), "x")
    fill(table, range(10), "y")
    build(table, "v")
    overwrite(table, (99, "v03", "x", 0.0, None), dynamic=True)
    assert ranges(table) == [(10, 19)]
    assert ids(table, v("v03")) == [3, 99]


def test_index_files_go_when_no_snapshot_needs_them_and_not_before(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    fill(table, range(10))
    build(table, "v")
    (name,) = index_files(table)
    create_tag(again(table), "kept")
    drop(table, "v")
    assert ranges(table) == []
    fill(table, range(10, 12))
    newest = Retention(max=1, min=1, older_than_millis=2**62, limit=100)
    expire_snapshots(again(table), newest)
    search = Search(2**62, LocalExecutor())
    assert index_files(table) == {name}
    assert remove_orphans(find_orphans(again(table), search), dry_run=True).metadata == 0
    delete_tags(again(table), ["kept"])
    assert index_files(table) == set()


def test_a_rollback_and_a_branch_have_the_indexes_of_their_snapshot(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    fill(table, range(40))
    build(table, "v")
    create_tag(again(table), "with")
    create_branch(again(table), "b", tag="with")
    drop(table, "v")
    assert ask(table, v("v03")).rows_from_indexes is None
    branch = replace(again(table), branch="b")
    assert ask(branch, v("v03")).rows_from_indexes == 2
    rollback_to_snapshot(again(table), 2)
    assert ask(table, v("v03")).rows_from_indexes == 2


def test_a_read_does_without_an_index_file_that_is_gone_or_broken(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    fill(table, range(40))
    build(table, "v")
    (entry,) = global_entries(again(table), again(table).snapshots.latest())
    path = Path(index_path(table, entry))
    data = path.read_bytes()
    path.write_bytes(bytes(len(data)))
    assert ids(table, v("v03")) == [3, 23]
    path.write_bytes(_by_lzo(data))
    assert ids(table, v("v03")) == [3, 23]
    path.unlink()
    assert ids(table, v("v03")) == [3, 23]
    assert ids(again(table, {"scalar-index.search-mode": "fast"}), v("v03")) == [3, 23]


def _by_lzo(data: bytes) -> bytes:
    """A B-tree whose top block says that LZO has compressed it."""
    at, size = struct.unpack_from("<qi", data, len(data) - 52 + 20)
    lzo = bytes([3])
    checksum = struct.pack("<I", zlib.crc32(lzo, zlib.crc32(data[at : at + size])))
    return data[: at + size] + lzo + checksum + data[at + size + 5 :]


def test_index_files_can_stand_elsewhere(tmp_path: Path) -> None:
    table = evolving(tmp_path, {"global-index.external-path": str(tmp_path / "far")})
    fill(table, range(40))
    build(table, "v")
    assert not index_files(table)
    assert len(list((tmp_path / "far").iterdir())) == 1
    assert ask(again(table, {"global-index.external-path": "elsewhere"}), v("v03")).rows_from_indexes == 2


def test_two_builders_of_one_index_are_a_conflict_and_leave_nothing(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    fill(table, range(10))
    plan = planned(table, "v", "btree")
    messages = build_index(again(table), LocalExecutor(), plan)
    build(table, "v")
    with pytest.raises(CommitConflictError, match="covers rows"):
        commits.change_indexes(again(table), messages)
    assert len(index_files(table)) == 1


@pytest.mark.parametrize(
    ("column", "kind", "options", "error", "message"),
    [
        ("nope", "btree", {}, InvalidInputError, "has no column 'nope'"),
        ("v", "cuckoo", {}, InvalidInputError, "Unknown global index type 'cuckoo'"),
        ("v", "lumina", {}, UnsupportedError, "need a native library"),
        ("v,d", "btree", {}, UnsupportedError, "has one column, not v, d"),
        ("a", "btree", {}, UnsupportedError, r"Column 'a' is ARRAY<INT>"),
        ("v", "btree", {"row-tracking.enabled": "false"}, InvalidInputError, "'row-tracking.enabled' = 'true'"),
        ("v", "btree", {"data-evolution.enabled": "false"}, InvalidInputError, "'data-evolution.enabled' = 'true'"),
    ],
)
def test_what_cannot_be_indexed_is_refused(
    tmp_path: Path, column: str, kind: str, options: dict[str, str], error: type[Exception], message: str
) -> None:
    table = again(evolving(tmp_path), options)
    with pytest.raises(error, match=message):
        plan_index(table, index_column(table, column, kind), None, None)


def test_an_empty_table_has_nothing_to_index(tmp_path: Path) -> None:
    assert build(evolving(tmp_path), "v") == 0


VALUES = st.none() | st.sampled_from(["", "a", "ab", "b", "é", "\U0010ffff"])
CONDITIONS = st.recursive(
    st.builds(lambda o, x: v(x, o), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), VALUES.filter(bool))
    | st.builds(lambda n: IsNull("v", n), st.booleans())
    | st.builds(lambda xs: In("v", pa.array(xs, pa.string())), st.lists(VALUES.filter(bool), max_size=3))
    | st.builds(lambda x: StartsWith("v", x), st.sampled_from(["", "a", "é", "\U0010ffff"]))
    | st.builds(lambda o, n: Comparison("id", o, pa.scalar(n, pa.int32())), st.sampled_from("<="), st.integers(0, 9)),
    lambda inner: st.builds(lambda a, b, both: (And if both else Or)((a, b)), inner, inner, st.booleans()),
    max_leaves=4,
)  # fmt: skip


@settings(max_examples=25)
@given(st.data())
def test_indexed_reads_answer_as_plain_ones_do(data: st.DataObject) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        table = evolving(folder)
        count = 0
        for _ in range(data.draw(st.integers(1, 5))):
            match data.draw(
                st.sampled_from(["insert", "insert", "update", "delete", "build", "build", "drop", "compact"])
            ):
                case "insert":
                    new = data.draw(st.lists(VALUES, min_size=1, max_size=8))
                    insert(table, *((i % 10, x, "x", 0.0, None) for i, x in enumerate(new, count)))
                    count += len(new)
                case "update" if count:
                    update(table, "v", {data.draw(st.integers(0, count - 1)): data.draw(VALUES)})
                case "delete" if count:
                    delete(table, data.draw(st.integers(0, count - 1)))
                case "build":
                    size = data.draw(st.sampled_from(["1", "3", "1000"]))
                    column, kind = data.draw(st.sampled_from(["v", "id"])), data.draw(st.sampled_from(KINDS))
                    build(again(table, {"sorted-index.records-per-range": size}), column, kind)
                case "drop":
                    drop(table, data.draw(st.sampled_from(["v", "id"])), data.draw(st.sampled_from(KINDS)))
                case "compact":
                    compacting = again(table)
                    commits.compact(compacting, plan_table(compacting, full=True).run(LocalExecutor()))
        for predicate in data.draw(st.lists(CONDITIONS, min_size=1, max_size=3)):
            assert ids(table, predicate) == every(table, predicate), str(predicate)
    finally:
        shutil.rmtree(folder)
