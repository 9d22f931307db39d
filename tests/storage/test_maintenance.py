"""What a table does for itself after a commit."""

from __future__ import annotations

import json
import logging
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from paimon_sql.format.metadata.snapshot import Tag
from paimon_sql.storage.maintenance.snapshots.expiration import ExpirationResult
from paimon_sql.storage.operations.operations import _background, after_commit
from paimon_sql.storage.table.table import Table
from tests.storage.interrupted_io import InterruptedFileIO
from tests.storage.small_tables import amend_latest, fresh, insert, make_table, on_disk, overwrite, reachable

FEW = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}


def maintain(table: Table) -> ExpirationResult | None:
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
    assert "snapshots could not expire" in caplog.text
    assert "tag-broken" in caplog.text
    assert versions(table) == [1, 2, 3, 4]


def test_expiry_may_happen_in_the_background(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {**FEW, "snapshot.expire.execution-mode": "async"})
    for i in range(4):
        insert(table, (i, "v", "x"))
    assert maintain(table) is None
    _background().submit(int).result(60)
    assert versions(table) == [3, 4]


def test_the_process_waits_for_the_background_at_its_end(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {**FEW, "snapshot.expire.execution-mode": "async"})
    for i in range(4):
        insert(table, (i, "v", "x"))
    program = """
import pickle, sys
from paimon_sql.storage.operations.operations import after_commit
after_commit(pickle.loads(bytes.fromhex(sys.argv[1])))
"""
    given = pickle.dumps(fresh(table).with_options({"write-only": "false"})).hex()
    subprocess.run([sys.executable, "-c", program, given], check=True)
    assert versions(table) == [3, 4]


def test_what_fails_in_the_background_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = make_table(tmp_path / "t", {"snapshot.expire.execution-mode": "async"})
    insert(table, (1, "v", "x"))
    Path(table.tags.directory).mkdir()
    Path(table.tags.path("broken")).write_text("?")
    with caplog.at_level(logging.WARNING):
        assert maintain(table) is None
        _background().submit(int).result(60)
    assert "tags could not expire" in caplog.text


DAILY = {"tag.automatic-creation": "process-time"}


def test_tags_come_before_the_snapshots_go_that_they_keep(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {**FEW, **DAILY})
    for i in range(5):
        overwrite(table, (i, "v", "x"))
    maintain(table)
    (tag,) = table.tags.all()
    assert (tag.snapshot.id, versions(table)) == (1, [4, 5])
    assert on_disk(table) == reachable(table)


def test_snapshots_stay_when_their_tags_could_not_be_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = make_table(tmp_path / "t", {**FEW, **DAILY, "tag.creation-delay": "2 d"})
    for i in range(4):
        insert(table, (i, "v", "x"))
    with caplog.at_level(logging.WARNING):
        assert maintain(table) is None
    assert "tags could not be created" in caplog.text
    assert versions(table) == [1, 2, 3, 4]


def test_other_failures_do_not_keep_snapshots(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    options = {**FEW, "partition.expiration-time": "1 d", "partition.expiration-check-interval": "0 ms"}
    table = make_table(tmp_path / "t", {**options, "partition.expiration-strategy": "luck"}, partition_keys=["p"])
    for i in range(4):
        insert(table, (i, "v", "x"))
    with caplog.at_level(logging.WARNING):
        assert maintain(table) is not None
    assert "partitions could not expire" in caplog.text
    assert versions(table) == [3, 4]


def test_tags_whose_time_is_over_go_and_free_their_snapshots_files(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", FEW)
    overwrite(table, (0, "v", "x"))
    tagged = table.snapshots.get(1)
    table.tags.create("old", tagged)
    Path(table.tags.path("old")).write_text(Tag(tagged, datetime(2020, 1, 1), timedelta(hours=1)).to_json())
    for i in range(3):
        overwrite(table, (i, "v", "x"))
    maintain(table.with_options({"tag.time-expire-enabled": "false"}))
    assert table.tags.names() == ["old"]
    maintain(table)
    assert table.tags.names() == []
    assert on_disk(table) == reachable(table)


def made_at(table: Table, millis: int) -> None:
    """Let the table have been made at a time."""
    path = Path(table.schemas.directory.path(0))
    path.write_text(json.dumps({**json.loads(path.read_text()), "timeMillis": millis}))


def test_partitions_go_with_the_first_commit_of_each_interval(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"partition.expiration-time": "1 d"}, partition_keys=["p"])
    hour = 3_600_000
    made_at(table, hour * 10)
    table = replace(table, schema=replace(table.schema, time_millis=hour * 10))
    for i, millis in enumerate((hour * 10 + 1, hour * 11 - 1, hour * 11, hour * 11 + 5)):
        insert(table, (i, "v", "2020-01-01"))
        amend_latest(table, timeMillis=millis)
        before = table.snapshots.latest_id()
        maintain(table)
        dropped = fresh(table).snapshots.latest_id() != before
        assert dropped == (millis == hour * 11)
        if dropped:
            amend_latest(table, timeMillis=millis + 1)


def test_partitions_go_with_every_batch_if_its_end_looks_for_them(tmp_path: Path) -> None:
    options = {"partition.expiration-time": "1 d", "end-input.check-partition-expire": "true", "write-only": "false"}
    table = make_table(tmp_path / "t", options, partition_keys=["p"])
    insert(fresh(table), (1, "v", "2020-01-01"), (2, "v", "2999-01-01"))
    insert(fresh(table), (3, "v", "2020-01-01"))
    assert [s.commit_kind.value for s in table.snapshots.all()] == ["APPEND", "OVERWRITE"] * 2


def test_nothing_to_do_costs_a_handful_of_file_operations(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    for i in range(15):
        insert(table, (i, "v", "x"))
    counting = CountingFileIO()
    maintain(replace(table, file_io=counting))
    # Two of them make sure that the newest snapshot is none that has expired, or that a rollback has dropped.
    assert counting.operations <= 9
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
