"""Append tables whose rows are laid out anew, and compactions of some buckets only."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_sql.errors import CommitConflictError, InvalidInputError, UnsupportedError
from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.storage.compact.compaction import Scope
from paimon_sql.storage.compact.layouts.clustered import plan_sort
from paimon_sql.storage.compact.layouts.primary_key import plan_compaction
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.expressions.predicates import Comparison
from paimon_sql.storage.row_level.vectors import mark
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table
from tests.storage import commits
from tests.storage.core_tables import Row, again, insert, live, make_table, rows, written

ROWS: list[Row] = [(3, "c", "x"), (1, None, "y"), (None, "b", "x"), (2, "a", "y"), (-5, "é", "x"), (2, "", "x")]


def ordered(table: Table, strategy: str, *columns: str, scope: Scope | None = None) -> list[Snapshot]:
    table = again(table)
    return commits.append(table, plan_sort(table, strategy, columns, scope=scope or Scope()).run(LocalExecutor()))


def by_files(table: Table) -> list[list[Row]]:
    """The rows file by file in their order; one file a partition."""
    return [[r for r in rows(table) if r[2] == p] for p in ("x", "y")]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = make_table(tmp_path / "t", {"deletion-vectors.enabled": "true"}, partitions=("p",))
    for row in ROWS:
        insert(made, row)
    return made


def test_the_rows_of_each_partition_are_sorted_and_come_as_an_overwrite(table: Table) -> None:
    (snapshot,) = ordered(table, "order", "id", "v")
    assert snapshot.commit_kind is CommitKind.OVERWRITE
    assert by_files(table) == [
        [(None, "b", "x"), (-5, "é", "x"), (2, "", "x"), (3, "c", "x")],
        [(1, None, "y"), (2, "a", "y")],
    ]
    assert len(list(live(table))) == 2


@pytest.mark.parametrize("strategy", ["zorder", "hilbert"])
def test_curves_keep_all_rows(table: Table, strategy: str) -> None:
    ordered(table, strategy, "id", "v")
    assert sorted(rows(table), key=str) == sorted(ROWS, key=str)


def test_only_the_chosen_partitions_are_sorted(table: Table) -> None:
    before = by_files(table)[1]
    ordered(table, "order", "v", scope=Scope(Comparison("p", "=", pa.scalar("x"))))
    assert [r[1] for r in by_files(table)[0]] == ["", "b", "c", "é"]
    assert by_files(table)[1] == before
    assert len(list(live(table))) == 3


def test_deleted_rows_go_with_their_vectors(table: Table) -> None:
    first = next(e for e in live(table) if e.file.row_count == 1)
    whole = written(again(table), (7, "seven", "x"), (8, "eight", "x"))
    commits.append(again(table), whole)
    latest = again(table).snapshots.latest()
    two = next(e for e in live(table) if e.file.row_count == 2)
    gone = [(two, DeletionVector([1])), (first, DeletionVector([0]))]
    commits.append(again(table), mark(again(table), latest, gone))
    before = sorted(rows(table), key=str)
    ordered(table, "zorder", "id")
    assert sorted(rows(table), key=str) == before and (8, "eight", "x") not in before
    assert index_entries(again(table), again(table).snapshots.latest()) == []


def test_rows_that_come_meanwhile_stay(table: Table) -> None:
    mine = again(table)
    messages = plan_sort(mine, "order", ["id"]).run(LocalExecutor())
    insert(table, (9, "late", "x"))
    commits.append(mine, messages)
    assert (9, "late", "x") in rows(table) and len(rows(table)) == len(ROWS) + 1


def test_files_that_go_meanwhile_are_a_conflict_and_nothing_is_left(table: Table) -> None:
    mine = again(table)
    messages = plan_sort(mine, "order", ["id"]).run(LocalExecutor())
    ordered(table, "order", "v")
    with pytest.raises(CommitConflictError):
        commits.append(mine, messages)
    paths = [p for m in messages for f in m.new_files for p in mine.locations.files_of(m.partition, m.bucket, f)]
    assert paths and not any(mine.file_io.exists(p) for p in paths)


def test_an_empty_table_stays_as_it_is(tmp_path: Path) -> None:
    assert ordered(make_table(tmp_path / "t"), "hilbert", "id") == []


@pytest.mark.parametrize(
    ("strategy", "columns"),
    [("spiral", ["id"]), ("order", []), ("order", ["id", "nope"]), ("zorder", ["p"])],
)
def test_orders_that_make_no_sense_are_refused_even_of_an_empty_table(
    tmp_path: Path, strategy: str, columns: list[str]
) -> None:
    with pytest.raises(InvalidInputError):
        ordered(make_table(tmp_path / "t", partitions=("p",)), strategy, *columns)


@pytest.mark.parametrize("options", [{"bucket": "2", "bucket-key": "id"}, {"data-evolution.enabled": "true"}])
def test_only_append_tables_without_buckets_are_sorted(tmp_path: Path, options: dict[str, str]) -> None:
    tracked = {"row-tracking.enabled": "true"} if "bucket" not in options else {}
    with pytest.raises(UnsupportedError):
        ordered(make_table(tmp_path / "t", {**options, **tracked}), "order", "id")
    with pytest.raises(UnsupportedError, match="primary key"):
        ordered(make_table(tmp_path / "k", keys=("id",)), "order", "v")


def test_a_partition_is_idle_if_its_newest_file_is_old(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"bucket": "2", "write-only": "true"}, keys=("id", "p"), partitions=("p",))
    for p in ("x", "y"):
        insert(table, *((n, "v", p) for n in range(20)))
    time.sleep(1)
    insert(table, (1, "v", "y"))
    scope = Scope(idle=timedelta(milliseconds=900))
    found = scope.of(again(table), live_files(again(table), again(table).snapshots.latest()).entries)
    assert len(found) == 2 and len(set(found["partition"].to_pylist())) == 1
    assert (
        plan_compaction(again(table), table.snapshots.latest(), full=True, scope=Scope(idle=timedelta(hours=1))) == []
    )


def test_only_the_named_buckets_are_compacted(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"bucket": "4", "write-only": "true"}, keys=("id",))
    for _ in range(2):
        insert(table, *((n, "v", "p") for n in range(20)))
    tasks = plan_compaction(again(table), table.snapshots.latest(), full=True, scope=Scope(buckets=frozenset({1, 3})))
    assert sorted(t.bucket for t in tasks) == [1, 3]
