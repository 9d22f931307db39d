"""Rivals at work on one table, each in a process of its own: writers, expirers, readers, taggers and cleaners.

Run as a program with a folder, a scenario's name and how many seconds it takes. Ends with 0 if all is well.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from paimon_sql.errors import CommitConflictError, NoSuchSnapshotError, NotFoundError
from paimon_sql.storage.branches.management import create_branch, delete_branches
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.maintenance.orphans.removal import find_orphans, remove_orphans
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import retained_snapshot
from tests.storage import core_tables as core
from tests.storage import small_tables as small
from tests.storage.child_processes import ended, forked

Rival = Callable[[Table, float], None]
FIRST = 3
"""How many snapshots there are at the beginning."""


def until(end: float, action: Callable[[int], object]) -> None:
    """Do something again and again, with a number that counts."""
    number = 0
    while time.time() < end:
        action(number)
        number += 1


def write(table: Table, end: float) -> None:
    """Put row n into snapshot n, and now and then replace all rows by those that were there."""
    number = (core.again(table).snapshots.latest_id() or 0) + 1
    while time.time() < end:
        if number % 5:
            core.insert(table, (number, f"v{number}", None))
        else:
            core.overwrite(table, *((i, f"w{i}", None) for i in range(1, number + 1)))
        number += 1


def expire(table: Table, end: float, keep: int) -> None:
    """Let all but a few snapshots expire."""

    def once(number: int) -> None:
        opened = core.again(table)
        try:
            expire_snapshots(opened, Retention(keep, keep, 2**62, 100))
        except CommitConflictError:
            return

    until(end, once)


def consume(table: Table, end: float) -> None:
    """Read one snapshot after the other as a consumer: none of them may go before it was read."""
    following = FIRST
    core.again(table).consumers.reset("reader", following)
    while time.time() < end:
        opened = core.again(table)
        if (opened.snapshots.latest_id() or 0) < following:
            time.sleep(0.005)
            continue
        snapshot = retained_snapshot(opened, following)
        assert [row[0] for row in small.rows_at(opened, snapshot)] == list(range(1, following + 1)), following
        following += 1
        opened.consumers.reset("reader", following)
    assert following > FIRST + 1, "nothing was read"


def tag(table: Table, end: float) -> None:
    """Make tags of snapshots that are about to go, read and delete them: each is kept, or refused."""

    def once(number: int) -> None:
        opened = core.again(table)
        earliest = opened.snapshots.earliest_id() or 1
        try:
            made = create_tag(opened, f"t{number}", earliest + number % 2).snapshot
        except (NoSuchSnapshotError, NotFoundError):
            assert not opened.tags.exists(f"t{number}")
            return
        time.sleep(0.01)
        assert len(small.rows_at(core.again(table), made)) == made.id
        delete_tags(core.again(table), [f"t{number}"])

    until(end, once)


def branch(table: Table, end: float) -> None:
    """Make branches of the newest snapshots, write to them and delete them."""

    def once(number: int) -> None:
        opened = core.again(table)
        try:
            create_branch(opened, "b", snapshot_id=opened.snapshots.latest_id())
        except NoSuchSnapshotError:
            return
        other = branch_of(core.again(table), "b")
        rows = len(core.rows(other))
        core.insert(other, (-number, "b", None))
        with suppress(CommitConflictError):
            expire_snapshots(branch_of(core.again(table), "b"), Retention(1, 1, 2**62, 100))
        assert len(core.rows(branch_of(core.again(table), "b"))) == rows + 1
        delete_branches(core.again(table), ["b"])

    until(end, once)


def clean(table: Table, end: float) -> None:
    """Look for orphan files: all files are young, so none may go."""

    def once(number: int) -> None:
        search = Search(int(time.time() * 1000) - 86_400_000, LocalExecutor(1))
        try:
            assert remove_orphans(find_orphans(core.again(table), search)).count == 0
        except CommitConflictError:
            return

    until(end, once)


SCENARIOS: dict[str, tuple[Rival, ...]] = {
    "two expirers and a writer": (write, partial(expire, keep=1), partial(expire, keep=3)),
    "an expirer and a reader under a consumer": (write, partial(expire, keep=1), consume),
    "an expirer, tags and branches": (write, partial(expire, keep=2), tag, branch),
    "an expirer and a cleaner": (write, partial(expire, keep=1), tag, clean),
}


def main(folder: Path, name: str, seconds: float) -> None:
    table = core.make_table(folder / "t", {"write-only": "true"})
    for i in range(1, FIRST + 1):
        core.insert(table, (i, f"v{i}", None))
    end = time.time() + seconds
    children = [forked(partial(rival, core.again(table), end)) for rival in SCENARIOS[name]]
    codes = [ended(child) for child in children]
    assert not any(codes), codes
    latest = core.again(table).snapshots.latest_id() or 0
    assert latest > FIRST + 3, "the writer did next to nothing"
    assert sorted(row[0] for row in core.rows(table)) == list(range(1, latest + 1))
    for consumer in table.consumers.names():
        table.consumers.remove(consumer)
    expire_snapshots(core.again(table), Retention(1, 1, 2**62, latest))
    for path in Path(table.path).rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    clean_up = Search(int(time.time() * 1000) - 86_400_000, LocalExecutor(1))
    remove_orphans(find_orphans(replace(core.again(table)), clean_up))
    assert small.on_disk(table) == small.reachable(core.again(table))
    assert core.again(table).snapshots.directory.versions() == [latest]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
