"""Append tables whose small files are put together: no row is lost, none comes twice, deleted ones stay deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.metadata.manifest import entries
from paimon_sql.storage.compact.compaction import compact_due, plan_table
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.row_level.vectors import mark
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table
from tests.storage import commits
from tests.storage.core_tables import Row, again, insert, live, make_table, rows, written

FIXED = {"bucket": "1", "bucket-key": "id"}


def compacted(table: Table, *, full: bool = True) -> bool:
    """Compact an append table; whether there was anything to do."""
    table = again(table)
    return commits.compact(table, plan_table(table, full=full).run(LocalExecutor())) is not None


def some(first: int, count: int = 3) -> list[Row]:
    return [(first + i, f"v{first + i}", "pq"[i % 2]) for i in range(count)]


def filled(path: Path, options: dict[str, str], inserts: int, partitions: tuple[str, ...] = ()) -> Table:
    table = make_table(path / "t", options, partitions=partitions)
    for n in range(inserts):
        insert(table, *some(10 * n))
    return table


def test_enough_small_files_become_one(tmp_path: Path) -> None:
    table = filled(tmp_path, {}, 5)
    before = sorted(rows(table))
    assert compacted(table)
    assert sorted(rows(table)) == before
    assert len(list(live(table))) == 1
    assert not compacted(table)


def test_too_few_small_files_stay(tmp_path: Path) -> None:
    table = filled(tmp_path, {}, 4)
    assert not compacted(table)
    assert len(list(live(table))) == 4


def test_partitions_are_compacted_each_for_itself(tmp_path: Path) -> None:
    table = filled(tmp_path, {"compaction.min.file-num": "2"}, 3, partitions=("p",))
    before = sorted(rows(table))
    assert compacted(table)
    assert sorted(rows(table)) == before
    assert len({e.partition for e in live(table)}) == len(list(live(table))) == 2


def test_rows_of_a_fixed_bucket_keep_their_order(tmp_path: Path) -> None:
    table = filled(tmp_path, FIXED, 4)
    before = rows(table)
    assert compacted(table)
    assert rows(table) == before
    (file,) = [e.file for e in live(table)]
    assert (file.min_sequence_number, file.max_sequence_number) == (0, 11)
    insert(table, *some(99))
    assert [e.file.min_sequence_number for e in live(table)] == [0, 12]


@pytest.mark.parametrize("least", ["1", "2"])
def test_two_files_of_a_fixed_bucket_are_enough_where_the_table_says_so(tmp_path: Path, least: str) -> None:
    assert not compacted(filled(tmp_path / "five", FIXED, 2))
    table = filled(tmp_path / least, {**FIXED, "write-only": "true", "compaction.min.file-num": least}, 2)
    before = rows(table)
    assert compacted(table)
    assert rows(table) == before
    assert [e.file.row_count for e in live(table)] == [6]
    assert not compacted(table)


def test_a_write_compacts_the_neighbours_that_it_makes_too_many(tmp_path: Path) -> None:
    table = filled(tmp_path, {**FIXED, "compaction.min.file-num": "3"}, 2)
    messages = written(again(table), *some(70))
    due = compact_due(again(table), messages, LocalExecutor())
    commits.append(again(table), [*messages, *due])
    assert [e.file.row_count for e in live(table)] == [9]
    assert sorted(r[0] for r in rows(table)) == [0, 1, 2, 10, 11, 12, 70, 71, 72]
    only_written = again(table, {"write-only": "true"})
    assert compact_due(only_written, messages, LocalExecutor()) == []


def test_deleted_rows_and_their_vectors_go(tmp_path: Path) -> None:
    table = filled(tmp_path, {"deletion-vectors.enabled": "true"}, 3)
    latest = again(table).snapshots.latest()
    held = list(entries(live_files(again(table), latest).entries))
    gone = [(held[0], DeletionVector([1])), (held[1], DeletionVector([0, 2]))]
    commits.append(again(table), mark(again(table), latest, gone))
    before = sorted(rows(table))
    assert len(before) == 6
    assert compacted(table)
    assert sorted(rows(table)) == before
    assert index_entries(again(table), again(table).snapshots.latest()) == []


@pytest.mark.parametrize("marked_before", [False, True])
@pytest.mark.parametrize("ran_before", [False, True])
def test_rows_that_are_deleted_while_their_files_are_compacted_do_not_come_back(
    tmp_path: Path, marked_before: bool, ran_before: bool
) -> None:
    table = filled(tmp_path, {"deletion-vectors.enabled": "true"}, 5)
    if marked_before:
        delete(table, 0, 1)
    planned = again(table)
    plan = plan_table(planned, full=True)
    messages = plan.run(LocalExecutor()) if ran_before else []
    for n in range(5):
        delete(table, n, 0)
    before = sorted(rows(table))
    with pytest.raises(CommitConflictError):
        commits.compact(planned, messages or plan.run(LocalExecutor()))
    assert sorted(rows(table)) == before


def delete(table: Table, file: int, place: int) -> None:
    """Mark a row of one of the files."""
    latest = again(table).snapshots.latest()
    held = sorted(entries(live_files(again(table), latest).entries), key=lambda e: e.file.creation_time_millis or 0)
    commits.append(again(table), mark(again(table), latest, [(held[file], DeletionVector([place]))]))
