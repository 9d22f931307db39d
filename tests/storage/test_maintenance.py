"""What a table does for itself after a commit."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from interrupted_io import InterruptedFileIO
from small_tables import fresh, insert, make_table, on_disk, overwrite, reachable

from paimon_sql.storage.expire.run import ExpiryResult
from paimon_sql.storage.maintenance import after_commit
from paimon_sql.storage.table import Table

FEW = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}


def maintain(table: Table) -> ExpiryResult | None:
    return after_commit(fresh(table).with_options({"write-only": "false"}))


def versions(table: Table) -> list[int]:
    return table.snapshots.directory.versions()


def test_old_snapshots_go_with_each_commit(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", FEW)
    for i in range(5):
        overwrite(table, (i, "v", "x"))
        maintain(table)
        assert versions(table) == [n for n in (i, i + 1) if n]
        assert on_disk(table) == reachable(table)


def test_a_commit_sees_to_it_by_itself(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {**FEW, "write-only": "false"})
    for i in range(5):
        insert(fresh(table), (i, "v", "x"))
    overwrite(fresh(table), (9, "z", "x"))
    assert versions(table) == [5, 6]
    assert on_disk(table) == reachable(table)


def test_a_table_that_is_only_written_to_keeps_everything(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {**FEW, "write-only": "true"})
    for i in range(4):
        insert(table, (i, "v", "x"))
        assert after_commit(fresh(table)) is None
    assert versions(table) == [1, 2, 3, 4]


def test_one_commit_takes_no_more_than_the_limit(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {**FEW, "snapshot.expire.limit": "2"})
    for i in range(7):
        insert(table, (i, "v", "x"))
    maintain(table)
    assert versions(table) == [3, 4, 5, 6, 7]


def test_consumers_that_left_hold_nothing(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {**FEW, "consumer.expiration-time": "1 h"})
    for i in range(4):
        insert(table, (i, "v", "x"))
    table.consumers.reset("gone", 1)
    table.consumers.reset("here", 2)
    os.utime(table.consumers.path("gone"), (1, 1))
    maintain(table)
    assert list(table.consumers.all()) == ["here"]
    assert versions(table) == [2, 3, 4]


def test_a_failure_does_not_fail_the_commit(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = make_table(tmp_path / "t", FEW)
    for i in range(4):
        insert(table, (i, "v", "x"))
    Path(table.tags.directory).mkdir()
    Path(table.tags.path("broken")).write_text("?")
    with caplog.at_level(logging.WARNING):
        assert maintain(table) is None
    assert "tag-broken" in caplog.text
    assert versions(table) == [1, 2, 3, 4]


def test_expiry_may_happen_in_the_background(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {**FEW, "snapshot.expire.execution-mode": "async"})
    for i in range(4):
        insert(table, (i, "v", "x"))
    assert maintain(table) is None
    for _ in range(300):
        if versions(table) == [3, 4]:
            break
        time.sleep(0.01)
    assert versions(table) == [3, 4]


def test_nothing_to_do_costs_a_handful_of_file_operations(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    for i in range(15):
        insert(table, (i, "v", "x"))
    counting = CountingFileIO()
    maintain(replace(table, file_io=counting))
    assert counting.operations <= 7
    assert counting.count == 0


class CountingFileIO(InterruptedFileIO):
    """Counts every operation."""

    def __init__(self) -> None:
        super().__init__()
        self.operations = 0

    def __getattribute__(self, name: str) -> object:
        if name in ("read_bytes", "status", "list", "open_input", "walk"):
            object.__setattr__(self, "operations", object.__getattribute__(self, "operations") + 1)
        return super().__getattribute__(name)
