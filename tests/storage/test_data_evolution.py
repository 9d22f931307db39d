"""Tables with data evolution at the storage core: columns in files beside, compared with rows in plain Python."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import CommitConflictError, UnsupportedError
from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.metadata.snapshot import CommitKind, Operation, Snapshot
from paimon_sql.format.schema.schema import parse_schema
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.format.schema.types import BigIntType, DataField, IntType, string_type
from paimon_sql.storage.compact.compaction import plan_table
from paimon_sql.storage.compact.layouts.data_evolution import plan_materialization, run_evolved
from paimon_sql.storage.data_files.live_files import bucketed_groups
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.expressions.predicates import Comparison, IsNull, Predicate
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.operations.row_id_reassignment import RowIdReassigner
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.row_level.columns import ColumnTask, columns_unchanged
from paimon_sql.storage.row_level.vectors import mark
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.schema.changes.alter_columns import AddColumn, RenameColumn
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.schema.changes.column_types import UpdateColumnType
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table
from tests.storage import commits
from tests.storage.core_tables import again, batch_of, insert, live, make_table

COLUMNS = (DataField(0, "id", IntType()), DataField(1, "v", string_type()), DataField(2, "p", string_type()))
OPTIONS = {
    "row-tracking.enabled": "true",
    "data-evolution.enabled": "true",
    "deletion-vectors.enabled": "true",
    "compaction.min.file-num": "2",
}


def evolving(path: Path, options: Mapping[str, str] | None = None, partitions: Sequence[str] = ()) -> Table:
    return make_table(path / "t", {**OPTIONS, **(options or {})}, columns=COLUMNS, partitions=partitions)


def read(
    table: Table,
    columns: Sequence[str] | None = None,
    predicate: Predicate | None = None,
    row_ids: Predicate | None = None,
    snapshot: Snapshot | None = None,
) -> dict[int, tuple[Any, ...]]:
    """The rows by their ids."""
    table = again(table)
    names = tuple(columns if columns is not None else table.schema.names)
    found: dict[int, tuple[Any, ...]] = {}
    for split in plan_scan(table, predicate, columns=names, row_ids=row_ids, snapshot=snapshot).splits:
        for batch in ReadTask(table, split, (*names, ROW_ID.name), predicate, row_ids).batches():
            for *values, row_id in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                assert row_id not in found
                found[row_id] = tuple(values)
    return found


def update(
    table: Table, columns: Sequence[str], rows: Mapping[int, Sequence[Any]], base: Snapshot | None = None
) -> Snapshot:
    """Set columns of rows, by their ids."""
    table = again(table)
    messages = changed(table, columns, rows, base)
    base = base or table.snapshots.latest()
    unchanged = [columns_unchanged(messages)]
    return commits.append(table, messages, operation=Operation.UPDATE, base=base, validations=unchanged)[-1]


def changed(table: Table, columns: Sequence[str], rows: Mapping[int, Sequence[Any]], base: Snapshot | None) -> Any:
    schema = batch_of(table, []).schema
    ids = sorted(rows)
    arrays = [pa.array([rows[i][n] for i in ids], schema.field(name).type) for n, name in enumerate(columns)]
    whole = pa.RecordBatch.from_arrays([*arrays, pa.array(ids, pa.int64())], names=[*columns, ROW_ID.name])
    groups = tuple(bucketed_groups(table, base or table.snapshots.latest()))
    parts = [whole.slice(at, 2) for at in range(0, len(ids), 2)]
    return list(ColumnTask(table, tuple(columns), groups).run(parts))


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
    return commits.append(table, mark(table, base, gone), operation=Operation.DELETE)[-1]


def compact(table: Table) -> Snapshot | None:
    table = again(table)
    return commits.compact(table, plan_table(table, full=True).run(LocalExecutor()))


def materialize(table: Table) -> Snapshot | None:
    table = again(table)
    base = table.snapshots.latest()
    return commits.compact(table, run_evolved(table, LocalExecutor(), base, plan_materialization(table, base)))


def altered(table: Table, *changes: Any) -> Table:
    schema = apply_changes(table.schema, list(changes), has_data=True, case_sensitive=True)
    assert table.schemas.try_add(schema)
    return replace(again(table), schema=schema)


def test_changed_columns_go_into_files_beside_those_of_the_rows(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    insert(table, (1, "a", "x"), (2, "b", "x"), (3, "c", "x"))
    before = {e.file.file_name for e in live(table)}
    made = update(table, ["v"], {1: ["B"]})
    assert made.commit_kind is CommitKind.APPEND
    assert read(table) == {0: (1, "a", "x"), 1: (2, "B", "x"), 2: (3, "c", "x")}
    new = [e.file for e in live(table) if e.file.file_name not in before]
    assert [(f.write_cols, f.first_row_id, f.row_count, f.max_sequence_number) for f in new] == [(("v",), 0, 3, 2)]
    assert len(before) == len(live(table)) - 1


def test_files_without_a_wanted_column_are_not_read(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    insert(table, (1, "a", "x"), (2, "b", "x"))
    update(table, ["v"], {0: ["A"]})
    (base,) = [e for e in live(table) if e.file.write_cols is None]
    Path(table.locations.data_file(base.partition, base.bucket, base.file)).unlink()
    assert read(table, ["v"]) == {0: ("A",), 1: ("b",)}
    assert read(table, []) == {0: (), 1: ()}


def test_the_newest_file_of_a_column_tells_whether_rows_can_be_wanted(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    insert(table, (1, "a", "x"), (2, "b", "x"))
    insert(table, (3, "c", "x"))
    update(table, ["id"], {0: [10], 1: [20]})
    assert read(table, predicate=Comparison("id", "<", pa.scalar(3, pa.int32()))) == {}
    assert read(table, predicate=Comparison("id", "=", pa.scalar(20, pa.int32()))) == {1: (20, "b", "x")}
    metrics = plan_scan(again(table), Comparison("id", "<", pa.scalar(3, pa.int32()))).metrics
    assert metrics.files_read == 0


def test_conditions_on_ids_choose_files_and_rows(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    for first in range(0, 9, 3):
        insert(table, *((first + i, f"v{first + i}", "x") for i in range(3)))
    update(table, ["v"], {4: ["V4"]})
    wanted = Comparison(ROW_ID.name, "=", pa.scalar(4, pa.int64()))
    assert plan_scan(again(table), row_ids=wanted).metrics.files_read == 2
    assert read(table, row_ids=wanted) == {4: (4, "V4", "x")}
    alone = Comparison(ROW_ID.name, ">=", pa.scalar(8, pa.int64()))
    assert read(table, row_ids=alone) == {8: (8, "v8", "x")}
    assert read(table, ["p"], row_ids=Comparison(ROW_ID.name, "<", pa.scalar(0, pa.int64()))) == {}


def test_columns_that_came_later_and_changed_ones_are_read_by_their_ids(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    insert(table, (1, "a", "x"), (2, "b", "x"))
    update(table, ["id"], {0: [7]})
    table = altered(table, AddColumn(("w",), IntType()), RenameColumn(("v",), "u"))
    assert read(table) == {0: (7, "a", "x", None), 1: (2, "b", "x", None)}
    assert read(table, ["w"]) == {0: (None,), 1: (None,)}
    update(table, ["w"], {1: [5]})
    table = altered(table, UpdateColumnType(("id",), BigIntType()))
    insert(table, (3, "c", "y", 6))
    assert read(table) == {0: (7, "a", "x", None), 1: (2, "b", "x", 5), 2: (3, "c", "y", 6)}
    assert read(table, ["id"], IsNull("w")) == {0: (7,)}


def test_rows_stay_deleted_whatever_becomes_of_their_columns(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    insert(table, (1, "a", "x"), (2, "b", "x"))
    delete(table, 0)
    update(table, ["v"], {1: ["B"]})
    assert read(table) == {1: (2, "B", "x")}
    delete(table, 1)
    assert read(table) == {}
    assert len(live(table)) == 2


def test_earlier_snapshots_keep_their_rows(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    first = insert(table, (1, "a", "x"))
    update(table, ["v"], {0: ["A"]})
    assert read(table, snapshot=first) == {0: (1, "a", "x")}


def test_a_row_cannot_leave_its_partition(tmp_path: Path) -> None:
    table = evolving(tmp_path, partitions=("p",))
    insert(table, (1, "a", "x"), (2, "b", "y"))
    update(table, ["v", "p"], {0: ["A", "x"]})
    assert read(table) == {0: (1, "A", "x"), 1: (2, "b", "y")}
    with pytest.raises(UnsupportedError, match="partition"):
        update(table, ["p"], {0: ["y"]})
    (added,) = [e for e in live(table) if e.file.write_cols is not None]
    assert added.file.write_cols == ("v",)


def test_two_changes_of_the_same_columns_are_a_conflict_and_of_others_are_not(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    base = insert(table, (1, "a", "x"), (2, "b", "x"))
    insert(table, (3, "c", "x"))
    update(table, ["v"], {0: ["A"]}, base)
    update(table, ["p"], {1: ["P"]}, base)
    with pytest.raises(CommitConflictError, match="changed the same columns"):
        update(table, ["v"], {1: ["B"]}, base)
    assert read(table) == {0: (1, "A", "x"), 1: (2, "b", "P"), 2: (3, "c", "x")}


def test_columns_of_rows_that_are_gone_are_a_conflict(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    insert(table, (1, "a", "x"))
    late = changed(again(table), ["v"], {0: ["late"]}, None)
    gone = list(live(table))
    commits.overwrite(again(table), [], lambda latest: [replace(e, kind=1) for e in gone])  # type: ignore[arg-type]
    with pytest.raises(CommitConflictError):
        commits.append(again(table), late)
    assert read(table) == {}


def test_compactions_keep_ids_and_deleted_rows(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    insert(table, (1, "a", "x"), (2, "b", "x"))
    insert(table, (3, "c", "x"), (4, "d", "x"))
    update(table, ["v"], {1: ["B"], 2: ["C"]})
    delete(table, 0, 3)
    before = read(table)
    made = compact(table)
    assert made is not None and made.commit_kind is CommitKind.COMPACT
    (entry,) = live(table)
    assert (entry.file.first_row_id, entry.file.row_count, entry.file.write_cols) == (0, 4, None)
    assert (entry.file.min_sequence_number, entry.file.max_sequence_number) == (1, 3)
    assert read(table) == before == {1: (2, "B", "x"), 2: (3, "C", "x")}
    update(table, ["p"], {2: ["y"]})
    delete(table, 1)
    assert read(table) == {2: (3, "C", "y")}
    assert compact(table) is not None and compact(table) is None
    assert read(table) == {2: (3, "C", "y")}


def test_only_rows_that_follow_one_another_are_put_together(tmp_path: Path) -> None:
    table = evolving(tmp_path, partitions=("p",))
    insert(table, (1, "a", "x"), (2, "b", "y"), (3, "c", "y"))
    insert(table, (4, "d", "x"))
    insert(table, (5, "e", "x"))
    before = read(table)
    compact(table)
    assert sorted((e.file.first_row_id, e.file.row_count) for e in live(table)) == [(0, 1), (1, 2), (3, 2)]
    assert read(table) == before


def test_a_change_of_columns_under_way_does_not_survive_a_compaction_of_its_rows(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    insert(table, (1, "a", "x"))
    insert(table, (2, "b", "x"))
    late = changed(again(table), ["v"], {0: ["late"]}, None)
    compact(table)
    with pytest.raises(CommitConflictError, match="row"):
        commits.append(again(table), late)
    assert read(table) == {0: (1, "a", "x"), 1: (2, "b", "x")}


def test_a_compaction_gives_way_to_columns_and_deletes_that_came_meanwhile(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    insert(table, (1, "a", "x"))
    insert(table, (2, "b", "x"))
    planned = again(table)
    late = plan_table(planned, full=True).run(LocalExecutor())
    update(table, ["v"], {0: ["A"]})
    with pytest.raises(CommitConflictError, match="rows from id 0 on"):
        commits.compact(planned, late)
    planned = again(table)
    late = plan_table(planned, full=True).run(LocalExecutor())
    delete(table, 1)
    with pytest.raises(CommitConflictError, match="deleted rows"):
        commits.compact(planned, late)
    assert read(table) == {0: (1, "A", "x")}


def test_columns_that_came_while_a_group_was_compacted_are_the_newer_ones(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    insert(table, (1, "a", "x"), (2, "b", "x"))
    update(table, ["v"], {0: ["A"]})
    planned = again(table)
    late = plan_table(planned, full=True).run(LocalExecutor())
    update(table, ["v"], {1: ["B"]})
    commits.compact(planned, late)
    assert read(table) == {0: (1, "A", "x"), 1: (2, "B", "x")}
    assert len(live(table)) == 2


def test_deleted_rows_are_left_out_and_the_others_get_new_ids(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    insert(table, (1, "a", "x"), (2, "b", "x"), (3, "c", "x"))
    insert(table, (4, "d", "x"))
    update(table, ["v"], {0: ["A"]})
    assert materialize(table) is None
    delete(table, 1)
    made = materialize(table)
    assert made is not None and made.commit_kind is CommitKind.COMPACT and made.next_row_id == 6
    assert read(table) == {3: (4, "d", "x"), 4: (1, "A", "x"), 5: (3, "c", "x")}
    assert index_entries(again(table), made) == []
    delete(table, 3, 4, 5)
    materialize(table)
    assert (read(table), live(table)) == ({}, [])


def test_a_change_that_came_while_rows_were_written_anew_is_not_lost(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    insert(table, (1, "a", "x"), (2, "b", "x"), (3, "c", "x"))
    delete(table, 1)
    rivals: tuple[Callable[[], object], ...] = (lambda: update(table, ["v"], {0: ["A"]}), lambda: delete(table, 2))
    for change in rivals:
        planned = again(table)
        base = planned.snapshots.latest()
        late = run_evolved(planned, LocalExecutor(), base, plan_materialization(planned, base))
        change()
        with pytest.raises(CommitConflictError):
            commits.compact(planned, late)
    assert read(table) == {0: (1, "A", "x")}


def test_rows_of_partitions_written_in_turns_get_ids_that_follow_one_another(tmp_path: Path) -> None:
    table = evolving(tmp_path, partitions=("p",))
    for i, p in enumerate("abaab"):
        insert(table, (i, f"v{i}", p), (i + 10, "w", p))
    insert(table, (9, "c", "c"))
    update(table, ["v"], {4: ["V"]})
    delete(table, 5)
    before = read(table)
    assert RowIdReassigner(again(table)).run(None, dry_run=True) is None
    reassigner = RowIdReassigner(again(table))
    made = reassigner.run(Comparison("p", "=", pa.scalar("a")))
    assert made is not None and made.next_row_id == 11 + 6
    assert (reassigner.plan.rows, reassigner.plan.files, reassigner.plan.partitions) == (6, 4, 1)
    after = read(table)
    assert sorted(map(repr, after.values())) == sorted(map(repr, before.values()))
    assert [(i, r[2]) for i, r in sorted(after.items())] == [
        *((i, "b") for i in (2, 3, 8, 9)),
        (10, "c"),
        *((i, "a") for i in (11, 12, 13, 15, 16)),
    ]
    assert read(table, snapshot=again(table).snapshots.get(made.id - 1)) == before
    update(table, ["v"], {13: ["again"]})
    assert read(table)[13] == (2, "again", "a")
    again_made = RowIdReassigner(again(table)).run(None)
    assert again_made is not None and again_made.next_row_id == 17 + 4
    assert RowIdReassigner(again(table)).run(None) is None
    compact(table)
    assert {e.partition: 1 for e in live(table)}.keys() and len(live(table)) == 3
    assert RowIdReassigner(again(table)).run(None) is None


def test_long_runs_of_ids_stay(tmp_path: Path) -> None:
    table = evolving(tmp_path, {"data-evolution.reassign.skip-contiguous-row-count": "2"}, partitions=("p",))
    insert(table, *((i, "v", "a") for i in range(3)))
    insert(table, (5, "v", "b"))
    insert(table, (6, "v", "a"))
    made = RowIdReassigner(again(table)).run(None)
    assert made is not None
    assert sorted(i for i, r in read(table).items() if r[2] == "a") == [0, 1, 2, 5]


def test_blobs_stay_beside_what_changes(golden: Path, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    shutil.copytree(golden / "blob_field" / "warehouse" / "g.db" / "blob_field", folder)
    newest = folder / "schema" / "schema-0"
    table = Table("t", str(folder), LocalFileIO(), parse_schema(newest.read_bytes(), str(newest)))
    table = table.with_options({"compaction.min.file-num": "2"})
    before = read(table)
    assert [row[2] for row in before.values()] == [b"Hello", b"", None, b"\0\xff\0\xff"]
    ids = sorted(before)
    update(table, ["name"], {ids[1]: ["B"]})
    update(table, ["pic"], {ids[0]: [b"x"]})
    expected = {i: (r[0], "B" if i == ids[1] else r[1], b"x" if i == ids[0] else r[2]) for i, r in before.items()}
    assert read(table) == expected
    assert compact(table) is not None
    assert read(table) == expected
    assert read(table, ["pic"], row_ids=Comparison(ROW_ID.name, "=", pa.scalar(ids[3], pa.int64()))) == {
        ids[3]: (expected[ids[3]][2],)
    }


_VALUES = st.one_of(st.none(), st.integers(-9, 9))
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), st.lists(st.tuples(_VALUES, _VALUES, _VALUES), min_size=1, max_size=6)),
        st.tuples(
            st.just("update"),
            st.tuples(st.sets(st.sampled_from("abc"), min_size=1), st.sets(st.integers(0, 20)), _VALUES),
        ),
        st.tuples(st.just("delete"), st.sets(st.integers(0, 20), min_size=1)),
        st.tuples(st.just("compact"), st.none()),
        st.tuples(st.just("materialize"), st.none()),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60)
@given(_STEPS, st.sets(st.sampled_from("abc")), st.integers(-9, 9), st.integers(0, 20))
def test_random_changes_read_as_in_plain_python(
    steps: list[tuple[str, Any]], projection: set[str], limit: int, row_id: int
) -> None:
    fields = [DataField(i, name, IntType()) for i, name in enumerate("abc")]
    with tempfile.TemporaryDirectory() as folder:
        table = make_table(Path(folder) / "t", OPTIONS, columns=fields)
        model: dict[int, tuple[Any, ...]] = {}
        free = 0
        for kind, what in steps:
            if kind == "insert":
                insert(table, *what)
                model |= {free + i: row for i, row in enumerate(what)}
                free += len(what)
            elif kind == "update":
                columns, ids, value = what
                ids = sorted(i for i in ids if i in model)
                if ids:
                    update(table, sorted(columns), {i: [value] * len(columns) for i in ids})
                for i in ids:
                    model[i] = tuple(value if n in columns else v for n, v in zip("abc", model[i], strict=True))
            elif kind == "compact":
                compact(table)
            elif kind == "materialize":
                materialize(table)
                found = read(table)
                order = lambda row: [(v is None, v or 0) for v in row]  # noqa: E731
                assert sorted(found.values(), key=order) == sorted(model.values(), key=order)
                model, free = found, 0
                if table.snapshots.latest_id():
                    newest = again(table).snapshots.latest()
                    assert newest is not None and newest.next_row_id is not None
                    free = newest.next_row_id
            elif ids := [i for i in what if i in model]:
                delete(table, *ids)
                for i in ids:
                    del model[i]
        assert read(table) == model
        names = sorted(projection)
        assert read(table, names) == {i: tuple(r["abc".index(n)] for n in names) for i, r in model.items()}
        small = Comparison("b", "<", pa.scalar(limit, pa.int32()))
        wanted = {i: r for i, r in model.items() if r[1] is not None and r[1] < limit}
        assert read(table, predicate=small) == wanted
        by_id = Comparison(ROW_ID.name, ">=", pa.scalar(row_id, pa.int64()))
        found = read(table, row_ids=by_id)
        assert {i: r for i, r in found.items() if i >= row_id} == {i: r for i, r in model.items() if i >= row_id}
        assert found.items() <= model.items()
