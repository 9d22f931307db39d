"""Branches of append tables merged into one another."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_sql.errors import InvalidInputError, InvalidOptionError, NotFoundError, UnsupportedError
from paimon_sql.format.schema.types import IntType
from paimon_sql.storage.branches.management import create_branch, delete_branches
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.compact.compaction import EVERYTHING, compact_due, plan_table
from paimon_sql.storage.compact.layouts.append import plan_append_compaction
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.operations.merge_branch import merge_branch
from paimon_sql.storage.retention.policy import Limits, retention_of
from paimon_sql.storage.schema.changes.alter_columns import AddColumn
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.schema.changes.options import SetOption
from paimon_sql.storage.table.table import Table
from tests.storage import commits
from tests.storage.interrupted_io import InterruptedFileIO
from tests.storage.small_tables import fresh, insert, make_table, on_disk, overwrite, reachable, rows_at

MERGES = {"branch-merge.enabled": "true"}


def two_sides(path: Path, options: dict[str, str] | None = None) -> Table:
    """Main with 1 and 4, its branch ``side`` with 1, 2 and 3."""
    table = make_table(path / "t", MERGES if options is None else options)
    insert(table, (1, "v", "x"))
    create_tag(table, "base")
    create_branch(table, "side", tag="base")
    insert(branch_of(table, "side"), (2, "v", "x"), (3, "v", "x"))
    insert(fresh(table), (4, "v", "x"))
    return table


def ids(table: Table) -> list[int]:
    latest = fresh(table).snapshots.latest()
    return [row[0] for row in rows_at(fresh(table), latest)] if latest else []


def test_the_target_gets_the_rows_that_it_lacks_once(tmp_path: Path) -> None:
    table = two_sides(tmp_path)
    planned = merge_branch(table, "side", "main", dry_run=True)
    assert (planned.rows, len(planned.files), planned.snapshot, ids(table)) == (2, 1, None, [1, 4])
    done = merge_branch(table, "side", "main")
    assert done.snapshot is not None
    assert (done.snapshot.id, done.snapshot.commit_kind.value, done.files) == (3, "APPEND", planned.files)
    assert (ids(table), ids(branch_of(table, "side"))) == ([1, 2, 3, 4], [1, 2, 3])
    assert merge_branch(fresh(table), "side", "main").files == []
    assert merge_branch(fresh(table), "main", "side").rows == 1
    assert ids(branch_of(table, "side")) == [1, 2, 3, 4]


def test_merged_rows_stay_when_the_source_goes_or_expires(tmp_path: Path) -> None:
    table = two_sides(tmp_path)
    merge_branch(table, "side", "main")
    side = branch_of(table, "side")
    now = int(time.time() * 1000)
    for one in (side, fresh(table)):
        expire_snapshots(one, retention_of(one.options, now, Limits(retain_max=1, retain_min=1)))
    delete_branches(fresh(table), ["side"])
    assert ids(table) == [1, 2, 3, 4]
    assert reachable(fresh(table)) <= on_disk(table)


def test_a_rival_commit_is_built_upon(tmp_path: Path) -> None:
    table = two_sides(tmp_path)
    counting = InterruptedFileIO()
    merge_branch(replace(table, file_io=counting), "side", "main", dry_run=True)
    rival = InterruptedFileIO(1, lambda: insert(fresh(table), (9, "v", "x")))
    merge_branch(replace(table, file_io=rival), "side", "main")
    assert ids(table) == [1, 2, 3, 4, 9]


def test_rows_of_a_table_with_row_tracking_get_ids_of_their_own(tmp_path: Path) -> None:
    table = two_sides(tmp_path, {**MERGES, "row-tracking.enabled": "true"})
    done = merge_branch(table, "side", "main")
    assert done.snapshot is not None
    assert done.snapshot.next_row_id == 4
    assert ids(table) == [1, 2, 3, 4]


def _without_option(table: Table) -> None:
    change = SetOption("branch-merge.enabled", "false")
    table.schemas.evolve(lambda s: apply_changes(s, [change], has_data=True, case_sensitive=True))


def _more_columns(table: Table) -> None:
    change = AddColumn(("n",), IntType())
    table.schemas.evolve(lambda s: apply_changes(s, [change], has_data=True, case_sensitive=True))


def _taken_away(table: Table) -> None:
    overwrite(table.with_options({"branch-merge.enabled": "false"}), (5, "v", "x"))


def _expired(table: Table) -> None:
    now = int(time.time() * 1000)
    expire_snapshots(table, retention_of(table.options, now, Limits(retain_max=1, retain_min=1)))


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (_without_option, InvalidOptionError, r"branch-merge\.enabled"),
        (_more_columns, InvalidInputError, "differ"),
        (_taken_away, InvalidInputError, "snapshot 3 of .*OVERWRITE"),
        (_expired, InvalidInputError, "begins at snapshot 2"),
    ],
)
@pytest.mark.parametrize("side", ["main", "side"])
def test_sides_that_do_not_only_grow_or_do_not_match_are_refused(
    tmp_path: Path, spoil: Callable[[Table], None], error: type[Exception], message: str, side: str
) -> None:
    table = two_sides(tmp_path)
    spoil(branch_of(table, side))
    if spoil is _taken_away and side == "side":
        message = "snapshot 3 of .*side.*OVERWRITE"
    before = ids(branch_of(table, "main"))
    with pytest.raises(error, match=message):
        merge_branch(table, "side", "main")
    assert ids(branch_of(table, "main")) == before


def test_branches_that_are_missing_empty_or_the_same_are_refused(tmp_path: Path) -> None:
    table = two_sides(tmp_path)
    create_branch(table, "bare")
    for source, target, error in (
        ("gone", "main", NotFoundError),
        ("side", "gone", NotFoundError),
        ("side", "side", InvalidInputError),
        ("bare", "main", InvalidInputError),
        ("side", "bare", InvalidInputError),
    ):
        with pytest.raises(error):
            merge_branch(table, source, target)


def test_tables_with_a_key_are_refused(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", MERGES, primary_keys=["id"])
    insert(table, (1, "v", "x"))
    create_branch(table, "side", snapshot_id=1)
    with pytest.raises(UnsupportedError, match="primary key"):
        merge_branch(table, "side", "main")


def test_a_table_whose_branches_may_be_merged_takes_nothing_away(tmp_path: Path) -> None:
    table = two_sides(tmp_path)
    files = on_disk(table)
    with pytest.raises(UnsupportedError, match="overwritten"):
        overwrite(table, (5, "v", "x"))
    with pytest.raises(UnsupportedError, match="compacted"):
        plan_table(table, full=True).run(LocalExecutor())
    due = table.with_options({"compaction.min.file-num": "2"})
    tasks = plan_append_compaction(due, table.snapshots.latest(), full=True, scope=EVERYTHING)
    messages = [task.run() for task in tasks]
    assert messages
    with pytest.raises(UnsupportedError, match="compacted"):
        commits.compact(table, messages)
    assert compact_due(table, messages, LocalExecutor()) == []
    assert on_disk(table) == files
    assert ids(table) == [1, 4]
