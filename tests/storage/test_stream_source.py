"""Tables as streams: any steps give each split once, and positions survive their texts."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import InvalidInputError, InvalidOptionError, NoSuchSnapshotError, UnsupportedError
from paimon_sql.storage.commit.snapshot.carried_properties import newest_identifier
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.metadata.snapshots import SnapshotManager
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.streams import source as source_module
from paimon_sql.storage.streams.source import Limits, Position, StreamSource, parse_position
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage.small_tables import batch_of, fresh, insert, make_table, overwrite


def read_step(source: StreamSource, start: Position, end: Position) -> list[int]:
    """The ids of a step's rows."""
    table = source.table
    batches = (b for split in source.splits(start, end) for b in ReadTask(table, split, ("id",)).batches())
    return sorted(i for batch in batches for i in batch.column("id").to_pylist())


def filled(path: Path, snapshots: int = 6) -> Table:
    """A partitioned append table, two rows in as many partitions a snapshot."""
    table = make_table(path, partition_keys=("p",))
    for n in range(snapshots):
        insert(table, (2 * n, "v", "a"), (2 * n + 1, "v", "b"))
    return table


@given(
    limits=st.builds(Limits, files=st.just(math.inf) | st.integers(1, 4), rows=st.just(math.inf) | st.integers(1, 4))
)
@settings(max_examples=20)
def test_steps_of_any_size_give_each_row_once(tmp_path_factory: pytest.TempPathFactory, limits: Limits) -> None:
    table = filled(tmp_path_factory.mktemp("t"))
    source = StreamSource(fresh(table))
    at, found, steps = Position(3, full=True), [], 0
    while (end := source.end(at, limits)) is not None:
        again = parse_position(end.to_json())
        assert again == end
        step = read_step(source, at, again)
        assert step and step == read_step(StreamSource(fresh(table)), at, again)
        assert len(step) <= max(limits.rows, 6)
        found += step
        at, steps = end, steps + 1
    assert sorted(found) == list(range(12)) and sorted(found[:6]) == list(range(6))
    assert steps >= math.ceil(3 / limits.files)


def test_streams_begin_as_options_say(tmp_path: Path) -> None:
    table = filled(tmp_path, 3)
    time = table.snapshots.get(2).time_millis
    beginnings = {
        (): Position(3, full=True),
        (("scan.mode", "latest"),): Position(4),
        (("scan.mode", "full"),): Position(3, full=True),
        (("scan.snapshot-id", "2"),): Position(2),
        (("scan.snapshot-id", "9"),): Position(9),
        (("scan.mode", "from-snapshot-full"), ("scan.snapshot-id", "2")): Position(2, full=True),
        (("scan.timestamp-millis", str(time)),): Position(2),
        (("scan.timestamp-millis", str(time + 10**9)),): Position(4),
        (("scan.timestamp-millis", "0"),): Position(1),
    }
    for options, position in beginnings.items():
        assert StreamSource(table.with_options(dict(options))).start() == position, options
    with pytest.raises(InvalidOptionError, match="cannot start"):
        StreamSource(table.with_options({"scan.mode": "from-snapshot"})).start()
    with pytest.raises(UnsupportedError, match="a stream has none"):
        StreamSource(fresh(table, incremental_between="1,2"))
    assert StreamSource(make_table(tmp_path / "new")).start() == Position(1)


def test_consumers_go_on_where_they_were(tmp_path: Path) -> None:
    table = filled(tmp_path, 3)
    source = StreamSource(table.with_options({"consumer-id": "me", "scan.snapshot-id": "1"}))
    source.done(Position(1, 0, splits=2))
    assert table.consumers.find("me").next_snapshot == 1  # type: ignore[union-attr]
    source.done(Position(1, 1, splits=2))
    assert source.start() == Position(2)
    source.done(Position(2, 0, full=True, splits=2))
    assert source.start() == Position(2)
    again = table.with_options({"consumer-id": "me", "scan.snapshot-id": "1", "consumer.ignore-progress": "true"})
    assert StreamSource(again).start() == Position(1)


def test_overwrites_are_told_if_asked_for(tmp_path: Path) -> None:
    table = filled(tmp_path, 1)
    overwrite(table, (7, "v", "a"))
    insert(table, (8, "v", "a"))
    quiet, telling = StreamSource(fresh(table)), StreamSource(fresh(table, streaming_read_overwrite="true"))
    assert read_step(quiet, Position(2), quiet.newest()) == [8]
    assert read_step(telling, Position(2), telling.newest()) == [7, 8]


def test_what_is_gone_is_missed_by_name(tmp_path: Path) -> None:
    table = filled(tmp_path, 3)
    for snapshot in (1, 2):
        Path(table.snapshots.directory.path(snapshot)).unlink()
    source = StreamSource(fresh(table))
    with pytest.raises(NoSuchSnapshotError, match="snapshot 2"):
        source.end(Position(1, 1, splits=2))


def test_a_start_that_expires_meanwhile_is_missed_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = filled(tmp_path, 3)
    source, latest_id = StreamSource(fresh(table)), SnapshotManager.latest_id

    def overtaken(self: SnapshotManager) -> int | None:
        found = latest_id(self)
        monkeypatch.undo()
        for n in (6, 7):
            insert(fresh(table), (n, "v", "a"))
        expire_snapshots(fresh(table), Retention(1, 1, 2**62, 9))
        return found

    monkeypatch.setattr(SnapshotManager, "latest_id", overtaken)
    start = source.start()
    assert start == Position(3, full=True)
    with pytest.raises(NoSuchSnapshotError, match="snapshot 3"):
        source.end(start)


def test_steps_wait_for_rows_but_not_for_ever() -> None:
    waiting = Limits(min_rows=5, max_wait=2.0)
    assert waiting.waits(4, 1.0) and not waiting.waits(5, 0.0) and not waiting.waits(0, 2.0)
    assert Limits(min_rows=5).waits(0, 1e9) and not Limits().waits(0, 0.0)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"snapshotId": "x", "index": 0, "scanSnapshot": false}'])
def test_offsets_of_others_are_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="not that of a Paimon table"):
        parse_position(text)


def test_a_numbered_commit_is_found_again(tmp_path: Path) -> None:
    table = filled(tmp_path, 2)
    assert newest_identifier(table, "me", table.snapshots.latest()) is None
    for number in (3, 4):
        messages = plan_write(table).run([batch_of(table, [(number, "v", "a")])])
        commits.append(table, messages, user="me", identifier=number)
    insert(table, (99, "v", "b"))
    latest = fresh(table).snapshots.latest()
    assert newest_identifier(fresh(table), "me", latest) == 4
    assert newest_identifier(fresh(table), "you", latest) is None


def test_a_stream_waits_until_snapshots_are_old_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = filled(tmp_path, 3)
    times = [table.snapshots.get(n).time_millis for n in (1, 2, 3)]
    delayed = StreamSource(fresh(table).with_options({"streaming.read.snapshot.delay": "1 min"}))
    for now, newest in ((times[0], 0), (times[0] + 60_000, times.count(times[0])), (times[2] + 60_000, 3)):
        monkeypatch.setattr(source_module, "current_millis", lambda now=now: now)
        assert delayed.newest().snapshot_id == newest
        end = delayed.end(Position(1))
        assert (end.snapshot_id if end else 0) == newest
    assert StreamSource(fresh(table)).newest().snapshot_id == 3
