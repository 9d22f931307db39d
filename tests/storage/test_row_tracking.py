"""Rows with ids: new ones get theirs from the commit, and keep them wherever compactions and changes bring them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.metadata.data_file import FileSource
from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.metadata.snapshot import Operation, Snapshot
from paimon_sql.format.schema.system_fields import ROW_ID, RowKind
from paimon_sql.storage.compact.compaction import plan_table
from paimon_sql.storage.compact.layouts.clustered import plan_sort
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.expressions.predicates import Comparison
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.row_level.copy_on_write import plan_rewrite
from paimon_sql.storage.row_level.strategy import RowLevelLayout, RowLevelStrategy
from paimon_sql.storage.row_level.vectors import mark
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.task import TrackedWriteTask
from tests.storage import commits
from tests.storage.core_tables import Row, again, batch_of, insert, live, make_table, plan, written

COLUMNS = ("id", "v", "p", "_ROW_ID", "_SEQUENCE_NUMBER")


def tracked(path: Path, options: Mapping[str, str] | None = None, partitions: tuple[str, ...] = ()) -> Table:
    given = {"row-tracking.enabled": "true", "compaction.min.file-num": "2", **(options or {})}
    return make_table(path / "t", given, partitions=partitions)


def read(table: Table) -> list[Row]:
    """The rows with their ids and the snapshots that changed them, by their ids."""
    found = []
    for split in plan(table).splits:
        for batch in ReadTask(again(table), split, COLUMNS).batches():
            found += [tuple(row.values()) for row in batch.to_pylist()]
    return sorted(found, key=lambda r: r[3])


def update(table: Table, place: int, row: Row, row_id: int, *new: Row) -> Snapshot:
    """Rewrite the first file without a row, which comes again changed, and new rows beside it."""
    table = again(table)
    kinds = [RowKind.UPDATE_AFTER] + [RowKind.INSERT] * len(new)
    batch = batch_of(table, [row, *new], kinds)
    ids = pa.array([row_id] + [None] * len(new), pa.int64())
    messages = TrackedWriteTask(table).run([batch.append_column(ROW_ID.name, ids)])
    entry = next(iter(live(table)))
    messages += [task.run() for task in plan_rewrite(table, [(entry, DeletionVector([place]))])]
    return commits.append(table, messages, operation=Operation.UPDATE)[-1]


def test_new_rows_are_numbered_one_commit_after_the_other(tmp_path: Path) -> None:
    table = tracked(tmp_path)
    assert insert(table, (1, "a", "x"), (2, "b", "x")).next_row_id == 2
    assert insert(table, (3, "c", "x")).next_row_id == 3
    assert read(table) == [(1, "a", "x", 0, 1), (2, "b", "x", 1, 1), (3, "c", "x", 2, 2)]


def test_ids_follow_each_other_within_a_partition(tmp_path: Path) -> None:
    table = tracked(tmp_path, {"target-file-size": "1 b"}, ("p",))
    messages = [m for p in ("x", "y", "x") for m in written(again(table), *((n, "v", p) for n in range(3)))]
    assert commits.append(again(table), messages)[-1].next_row_id == 9
    by_partition = {p: [r[3] for r in read(table) if r[2] == p] for p in "xy"}
    assert by_partition == {"x": [0, 1, 2, 3, 4, 5], "y": [6, 7, 8]}


def test_many_files_of_one_writer_are_all_of_the_snapshot(tmp_path: Path) -> None:
    table = tracked(tmp_path, {"target-file-size": "1 b"})
    for n in range(2):
        insert(table, *((n * 10 + i, "v" * 1000, "x") for i in range(4)))
    assert {(r[0] // 10 + 1) for r in read(table)} == {r[4] for r in read(table)} == {1, 2}
    assert len({r[3] for r in read(table)}) == 8


def test_updated_rows_keep_their_ids_and_those_beside_them_their_numbers(tmp_path: Path) -> None:
    table = tracked(tmp_path)
    insert(table, (1, "a", "x"), (2, "b", "x"), (3, "c", "x"))
    snapshot = update(table, 1, (2, "B", "x"), 1, (4, "new", "x"))
    assert snapshot.next_row_id == 4
    assert read(table) == [(1, "a", "x", 0, 1), (2, "B", "x", 1, 2), (3, "c", "x", 2, 1), (4, "new", "x", 3, 2)]
    moved = [e.file for e in live(table) if e.file.first_row_id is None]
    assert {f.write_cols for f in moved} == {COLUMNS}
    assert {(f.min_sequence_number, f.max_sequence_number) for f in moved} == {(1, 1), (2, 2)}


@pytest.mark.parametrize(
    "options", [{}, {"deletion-vectors.enabled": "true"}, {"file.format": "orc"}, {"file.format": "avro"}]
)
def test_compactions_keep_ids_and_numbers(tmp_path: Path, options: dict[str, str]) -> None:
    table = tracked(tmp_path, options)
    insert(table, (1, "a", "x"), (2, "b", "x"), (3, "c", "x"))
    if options.get("deletion-vectors.enabled"):
        gone = [(next(iter(live(table))), DeletionVector([0]))]
        commits.append(again(table), mark(again(table), again(table).snapshots.latest(), gone))
    else:
        update(table, 0, (1, "A", "x"), 0)
    insert(table, (4, None, "x"))
    before = read(table)
    mine = again(table)
    made = commits.compact(mine, plan_table(mine, full=True).run(LocalExecutor()))
    assert made is not None and made.next_row_id == 4
    assert read(table) == before
    (file,) = [e.file for e in live(table) if e.file.file_source == FileSource.COMPACT]
    assert (file.first_row_id, file.write_cols) == (None, COLUMNS)
    assert file.min_sequence_number == 1
    assert insert(table, (5, "e", "x")).next_row_id == 5


def test_an_order_keeps_ids(tmp_path: Path) -> None:
    table = tracked(tmp_path)
    insert(table, (3, "a", "x"), (1, "b", "x"))
    insert(table, (2, "c", "x"))
    before = read(table)
    assert commits.append(again(table), plan_sort(again(table), "order", ["id"]).run(LocalExecutor()))
    assert read(table) == before
    assert [e.file.row_count for e in live(table)] == [3]


def test_moved_rows_are_found_by_their_statistics(tmp_path: Path) -> None:
    table = tracked(tmp_path)
    for n in range(3):
        insert(table, (n, "v", "x"))
    mine = again(table)
    commits.compact(mine, plan_table(mine, full=True).run(LocalExecutor()))
    assert plan(table, Comparison("id", "=", pa.scalar(7, pa.int32()))).splits == []
    assert len(plan(table, Comparison("id", "=", pa.scalar(1, pa.int32()))).splits) == 1


def test_columns_that_came_later_are_null_in_moved_rows(tmp_path: Path) -> None:
    table = tracked(tmp_path)
    insert(table, (1, "a", "x"))
    update(table, 0, (1, "A", "x"), 0)
    renamed = tuple(replace(f, name="w") if f.name == "v" else f for f in table.schema.fields)
    schema = replace(table.schema, id=1, fields=renamed)
    assert table.schemas.try_add(schema)
    (split,) = plan(replace(table, schema=schema)).splits
    (batch,) = ReadTask(replace(table, schema=schema), split, ("_ROW_ID", "w")).batches()
    assert batch.to_pylist() == [{"_ROW_ID": 0, "w": "A"}]


def test_rows_of_tables_with_data_evolution_are_not_rewritten(tmp_path: Path) -> None:
    table = tracked(tmp_path, {"data-evolution.enabled": "true"})
    assert RowLevelLayout.of(table).row_level_strategy(table, Operation.UPDATE, False) is RowLevelStrategy.COLUMNS
    with pytest.raises(UnsupportedError, match="deletion vectors"):
        RowLevelLayout.of(table).row_level_strategy(table, Operation.DELETE, True)
