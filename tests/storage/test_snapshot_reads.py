"""What is read of snapshots: the present where it counts, and no file twice where it does not."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from paimon_sql.errors import NoSuchSnapshotError
from paimon_sql.storage.compact.compaction import compact_due
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.maintenance.orphans.removal import find_orphans, remove_orphans
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot
from paimon_sql.storage.metadata.snapshots import SnapshotView
from paimon_sql.storage.operations.fast_forward import plan_fast_forward
from paimon_sql.storage.scan.changes.plan import plan_changes
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import change_range_to_read
from paimon_sql.storage.table.time_travel.resolve import version_to_read
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage.core_tables import again, batch_of, insert, make_table
from tests.storage.small_tables import add_branch

Reads = Counter[str]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reads]:
    """How often each snapshot's file is read."""
    found, read = Reads(), LocalFileIO.read_bytes

    def counted(self: LocalFileIO, path: str) -> bytes:
        found[path] += Path(path).name.startswith("snapshot-")
        return read(self, path)

    monkeypatch.setattr(LocalFileIO, "read_bytes", counted)
    yield found


def test_a_store_sees_a_snapshot_that_took_the_number_of_another(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"})
    for i in range(3):
        insert(table, (i, "a", "x"))
    opened = again(table)
    before, view = opened.snapshots.get(3), SnapshotView(opened.snapshots)
    assert (opened.snapshots.latest(), view.get(3)) == (before, before)
    rollback_to_snapshot(again(table), 2)
    assert opened.snapshots.find(3) is None
    after = insert(table, (9, "b", "x"))
    assert (opened.snapshots.get(3), opened.snapshots.latest()) == (after, after) != (before, before)
    assert (view.get(3), view.find(3)) == (before, before)


def test_the_newest_schema_is_read_each_time(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    assert table.schemas.latest() == table.schema
    other = make_table(tmp_path / "other", {"file.format": "orc"})
    Path(table.schemas.directory.path(0)).write_bytes(Path(other.schemas.directory.path(0)).read_bytes())
    assert table.schemas.latest() == table.schemas.newest() == other.schema


def travel(table: Table, **options: str) -> None:
    version_to_read(again(table, {k.replace("_", "-"): v for k, v in options.items()}))


def changes(table: Table, reach: str) -> None:
    opened = again(table, {"incremental-between": reach})
    span = change_range_to_read(opened)
    assert span is not None
    plan_changes(opened, span, None, 1)


def clean(table: Table) -> None:
    (Path(table.path) / "bucket-0" / f"data-{uuid.uuid4()}-0.parquet").touch()
    found = find_orphans(again(table), Search(int(time.time() * 1000) + 60_000, LocalExecutor(1), None))
    removed = remove_orphans(found, dry_run=True)
    assert removed.count == 1


@pytest.mark.parametrize(
    "operation",
    [
        lambda table: travel(table, **{"scan.watermark": "5"}),
        lambda table: travel(table, **{"scan.timestamp-millis": "5"}),
        lambda table: travel(table, **{"scan.timestamp-millis": str(2**60)}),
        lambda table: travel(table, **{"scan.mode": "compacted-full"}),
        lambda table: changes(table, "2,6"),
        clean,
        lambda table: plan_fast_forward(again(table), add_branch(again(table), "b", "t")),
    ],
)
def test_an_operation_reads_each_snapshot_once(
    tmp_path: Path, reads: Reads, operation: Callable[[Table], object]
) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"})
    for i in range(8):
        insert(table, (i, "a", "x"))
    table.tags.create("t", table.snapshots.get(4))
    reads.clear()
    with suppress(NoSuchSnapshotError):  # which says what there is instead
        operation(table)
    assert max(reads.values()) == 1


def test_a_compaction_does_not_read_the_snapshot_of_its_write_again(tmp_path: Path, reads: Reads) -> None:
    table = make_table(tmp_path / "t", {"num-sorted-run.compaction-trigger": "2"}, keys=["id"])
    insert(table, (1, "a", "x"))
    opened = again(table)
    reads.clear()
    task = plan_write(opened)
    messages = task.run([batch_of(opened, [(1, "b", "x")])])
    compacted = compact_due(opened, messages, LocalExecutor(1), planned_on=task.planned_on)
    assert (reads[opened.snapshots.directory.path(1)], len(compacted)) == (1, 1)
    commits.append(opened, [*messages, *compacted])
    assert task.planned_on == opened.snapshots.get(1)


def test_an_overwrite_that_changes_nothing_looks_once(tmp_path: Path, reads: Reads) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "a", "x"))
    reads.clear()
    assert commits.overwrite(again(table), [], lambda latest: []) is None
    assert reads[table.snapshots.directory.path(1)] == 1
    assert table.snapshots.latest_id() == 1
