"""Maintenance after a commit that ends anywhere: what is retained reads, and the next commit's finishes the work."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from paimon_sql.format.metadata.snapshot import Tag
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.operations.operations import after_commit
from paimon_sql.storage.retention.tags import is_guard
from paimon_sql.storage.table.table import Table
from tests.storage.interrupted_io import Crash, InterruptedFileIO
from tests.storage.small_tables import amend_latest, fresh, insert, make_table, on_disk, reachable, rows_at

HOUR = 3_600_000
OPTIONS = {
    "snapshot.num-retained.min": "1",
    "snapshot.num-retained.max": "2",
    "tag.automatic-creation": "process-time",
    "tag.creation-period": "hourly",
    "tag.num-retained-max": "2",
    "tag.create-success-file": "true",
    "sink.process-time-zone": "UTC",
    "partition.expiration-time": "1 d",
    "partition.expiration-check-interval": "0 ms",
    "partition.expiration-batch-size": "1",
    "consumer.expiration-time": "1 h",
}


def history(path: Path) -> Table:
    table = make_table(path / "t", OPTIONS, partition_keys=["p"])
    for i, day in enumerate(("2020-01-01", "2999-01-01", "2020-01-02", "2999-01-01", "2999-01-01")):
        insert(table, (i, "v", day))
        amend_latest(table, timeMillis=HOUR * (10 + i) + i)
    tagged = table.snapshots.get(2)
    table.tags.create("old", tagged)
    Path(table.tags.path("old")).write_text(Tag(tagged, datetime(2020, 1, 1), timedelta(hours=1)).to_json())
    table.consumers.reset("gone", 1)
    os.utime(table.consumers.path("gone"), (1, 1))
    return table


def maintain(table: Table) -> None:
    after_commit(fresh(table).with_options({"write-only": "false"}))


def outcome(table: Table) -> tuple[list[str], list[str], list[tuple[int, str, str]], int]:
    table = fresh(table)
    latest = table.snapshots.latest()
    assert latest is not None
    return (
        [name for name in table.tags.names() if not is_guard(name)],
        table.consumers.names(),
        rows_at(table, latest),
        len(table.snapshots.directory.versions()),
    )


def check_readable(table: Table) -> None:
    earliest = table.snapshots.earliest_id() or 0
    kept = [s for s in table.snapshots.all() if s.id >= earliest] + [t.snapshot for t in table.tags.all()]
    for snapshot in kept:
        assert len(rows_at(table, snapshot)) == snapshot.total_record_count
    assert reachable(table) <= on_disk(table) | {str(p) for p in Path(table.path).rglob("*_SUCCESS")}


def test_maintenance_can_end_anywhere_and_is_finished_by_the_next(tmp_path: Path) -> None:
    table = history(tmp_path)
    whole = copied(table, tmp_path, -1, InterruptedFileIO())
    maintain(whole)
    names, consumers, rows, _ = outcome(whole)
    assert (names, consumers) == (["1970-01-01 12", "1970-01-01 13"], [])
    assert [row[2] for row in rows] == ["2999-01-01"] * 3
    count = whole.file_io.count  # type: ignore[attr-defined]
    assert count > 20
    # The snapshots that took partitions away are of today, and the next commit tags the first of them.
    go_on(whole)
    expected = outcome(whole)
    for at in range(0, count, 2):
        crashed = copied(table, tmp_path, at, InterruptedFileIO(at))
        with pytest.raises(Crash):
            maintain(crashed)
        survivor = fresh(replace(crashed, file_io=LocalFileIO()))
        check_readable(survivor)
        go_on(survivor)
        check_readable(survivor)
        assert outcome(survivor) == expected


def go_on(table: Table) -> None:
    """Two more commits, and what they do."""
    maintain(table)
    insert(fresh(table), (9, "n", "2999-01-01"))
    maintain(table)


def copied(table: Table, path: Path, number: int, file_io: LocalFileIO) -> Table:
    target = path / f"copy-{number}"
    shutil.copytree(table.path, target)
    for consumer in (target / "consumer").iterdir():
        os.utime(consumer, (1, 1))
    return replace(table, path=str(target), file_io=file_io)
