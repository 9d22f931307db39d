"""Stream sources: a table as a sequence of splits, each with a position.

If the stream starts with a full snapshot, its splits come first; then those of each snapshot's changes. A position must
always mean the same split, for a checkpoint stores only the ends of micro-batches.
"""

from __future__ import annotations

import json
import time
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from math import inf

from paimon_sql.errors import InvalidInputError, InvalidOptionError, UnsupportedError
from paimon_sql.format.bytes.bounded import load_json
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID
from paimon_sql.format.options.engines import spark as spark_options
from paimon_sql.format.options.operations import scan as scan_options
from paimon_sql.format.options.operations.snapshot import CONSUMER_ID, CONSUMER_IGNORE_PROGRESS
from paimon_sql.format.text.instants import current_millis, parse_instant
from paimon_sql.storage.branches.chains import Chain
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.scan.changes.plan import plan_changes
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.scan.postponed import without_postponed
from paimon_sql.storage.scan.split import STREAM_SPLITS, Split
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import (
    DELTA,
    ChangeRange,
    change_mode,
    earliest_with_changelog,
    snapshot_with_changelog,
)


@dataclass(frozen=True)
class Limits:
    """The limits of a micro-batch. The split that reaches a limit is still taken completely.

    Attributes:
        files, bytes, rows: the max of each.
        min_rows: the min rows that a micro-batch waits for.
        max_wait: the max seconds to wait for them.
    """

    files: float = inf
    bytes: float = inf
    rows: float = inf
    min_rows: int = 0
    max_wait: float = inf

    @classmethod
    def of(cls, table: Table) -> Limits:
        """The limits that the options of a read set."""
        read = table.options.get
        return cls(
            read(spark_options.READ_STREAM_MAX_FILES_PER_TRIGGER) or inf,
            read(spark_options.READ_STREAM_MAX_BYTES_PER_TRIGGER) or inf,
            read(spark_options.READ_STREAM_MAX_ROWS_PER_TRIGGER) or inf,
            read(spark_options.READ_STREAM_MIN_ROWS_PER_TRIGGER) or 0,
            (read(spark_options.READ_STREAM_MAX_TRIGGER_DELAY_MS) or inf) / 1000,
        )

    @property
    def has_room(self) -> bool:
        """Whether another split may be taken."""
        return min(self.files, self.bytes, self.rows) > 0

    def without(self, split: Split) -> Limits:
        """The remaining limits after a split."""
        files, size, rows = self.files - len(split.files), self.bytes - split.size, self.rows - split.row_count
        return replace(self, files=files, bytes=size, rows=rows)

    def waits(self, rows: int, waited: float) -> bool:
        """Whether a micro-batch has to wait for more rows.

        Args:
            rows: the rows that it has.
            waited: the seconds since the last micro-batch.
        """
        return rows < self.min_rows and waited < self.max_wait


_BEHIND_LAST = 2**62
"""An index after all splits of a snapshot."""


class StreamSource:
    """A table as a stream.

    Args:
        table: the table, under the options of the read.
        predicate: a condition on its columns; splits that cannot match may be skipped.

    Raises:
        UnsupportedError: the options name a change range with an end, or the table is read as a chain.
    """

    def __init__(self, table: Table, predicate: Predicate | None = None) -> None:
        for option in (
            scan_options.INCREMENTAL_BETWEEN,
            scan_options.INCREMENTAL_BETWEEN_TIMESTAMP,
            scan_options.INCREMENTAL_TO_AUTO_TAG,
        ):
            if table.options.has(option):
                raise UnsupportedError(
                    f"{table.name}: '{option.key}' reads changes up to an end, but a stream has none.",
                    remedy="Leave the option out, and use scan.mode or scan.snapshot-id.",
                )
        if Chain.read_by(table) is not None:
            raise UnsupportedError(
                f"{table.name} is a chain table, which does not support streaming.", remedy="Read one of its branches."
            )
        self.table = table
        self._predicate = predicate
        self.limits = Limits.of(table)
        self._mode = change_mode(table)
        self._overwrites = bool(
            table.options.get(scan_options.STREAMING_READ_OVERWRITE)
            or (not table.schema.has_key and table.options.get(scan_options.STREAMING_READ_APPEND_OVERWRITE))
        )
        self._last_end_at = time.monotonic()
        self._planned: tuple[Position, Position, list[Split]] | None = None
        """The micro-batch that `end` found last, with its splits, which the next call of `splits` returns."""

    def start(self) -> Position:
        """The position at which the stream starts without a checkpoint.

        A consumer with progress continues from there; otherwise the options decide.

        Raises:
            InvalidOptionError: a stream cannot start where the options say.
        """
        # First: a start that expires from here on is missed by name, and not passed over.
        earliest = earliest_with_changelog(self.table, self._mode)
        begin = _consumed(self.table) or _by_options(self.table)
        return begin if earliest is None or begin.snapshot_id >= earliest else Position(earliest)

    def newest(self) -> Position:
        """A position after all current snapshots."""
        return Position(self._newest_id(), _BEHIND_LAST)

    def _newest_id(self) -> int:
        """The newest snapshot that is older than ``streaming.read.snapshot.delay``; 0 without one."""
        newest = self.table.snapshots.latest_id() or 0
        delay = self.table.options.get(scan_options.STREAMING_READ_SNAPSHOT_DELAY)
        if delay is None:
            return newest
        until = current_millis() - int(delay.total_seconds() * 1000)
        while newest and (found := self.table.snapshots.find(newest)) is not None and found.time_millis > until:
            newest -= 1
        return newest

    def end(self, start: Position, limits: Limits | None = None, until: Position | None = None) -> Position | None:
        """The end of the next micro-batch; None if there is none yet.

        Args:
            start: its start, exclusive.
            limits: its limits; none by default.
            until: the max end.
        """
        remaining, rows, last = limits or Limits(), 0, None
        taken: list[Split] = []
        for position, split in self._after(start):
            if not remaining.has_room or (until is not None and position.order > until.order):
                break
            remaining, rows, last = remaining.without(split), rows + split.row_count, position
            taken.append(split)
        if last is None or remaining.waits(rows, time.monotonic() - self._last_end_at):
            return None
        self._last_end_at, self._planned = time.monotonic(), (start, last, taken)
        return last

    def splits(self, start: Position, end: Position) -> list[Split]:
        """The splits after ``start``, up to and including ``end``.

        Raises:
            NoSuchSnapshotError: a snapshot between them is not retained any more.
        """
        if self._planned is not None and self._planned[:2] == (start, end):
            return self._planned[2]
        within = takewhile(lambda found: found[0].order <= end.order, self._after(start, end.snapshot_id))
        return [split for _, split in within]

    def done(self, end: Position) -> None:
        """Advance the consumer that the options name after a micro-batch.

        A snapshot that is read in part is retained for it, unless it is the full one at the start.
        """
        name = self.table.options.get(CONSUMER_ID)
        if name and end.ends_snapshot:
            self.table.consumers.reset(name, end.snapshot_id + 1)
        elif name and not end.full and end.index > BEFORE_FIRST:
            self.table.consumers.reset(name, end.snapshot_id)

    def _after(self, start: Position, last: int | None = None) -> Iterator[tuple[Position, Split]]:
        """All splits after a position, with their positions."""
        newest = self._newest_id()
        first = start.snapshot_id + start.ends_snapshot
        for snapshot_id in range(first, (newest if last is None else min(newest, last)) + 1):
            full = start.full and snapshot_id == start.snapshot_id
            found = self._whole(snapshot_id) if full else self._changed(snapshot_id)
            for index, split in enumerate(found):
                position = Position(snapshot_id, index, full, len(found))
                if position.order > start.order:
                    yield position, split

    def _whole(self, snapshot_id: int) -> list[Split]:
        snapshot = snapshot_with_changelog(self.table, snapshot_id, DELTA)
        table = without_postponed(self.table)  # postponed rows are changes of the compaction that moves them
        plan = plan_scan(table, self._predicate, snapshot=snapshot, split_size=STREAM_SPLITS)
        return _in_order(plan.splits)

    def _changed(self, snapshot_id: int) -> list[Split]:
        snapshot = snapshot_with_changelog(self.table, snapshot_id, self._mode)
        span = ChangeRange(self._mode, snapshot_id - 1, snapshot, overwrites=self._overwrites)
        return _in_order(plan_changes(self.table, span, self._predicate, STREAM_SPLITS.target)[0])


def _in_order(splits: list[Split]) -> list[Split]:
    return sorted(splits, key=lambda s: (s.partition, s.bucket))


BEFORE_FIRST = -1
"""The index of a position before all splits of its snapshot."""


@dataclass(frozen=True)
class Position:
    """A split of a snapshot, up to which a stream is read.

    Its JSON is that of the connector's offsets in checkpoints of Structured Streaming (Paimon: `PaimonSourceOffset`).

    Attributes:
        snapshot_id: the snapshot.
        index: the index of the split in the snapshot.
        full: whether all rows of the snapshot are read, not its changes.
        splits: the number of splits of the snapshot; None before the first.
    """

    snapshot_id: int
    index: int = BEFORE_FIRST
    full: bool = False
    splits: int | None = None

    @property
    def ends_snapshot(self) -> bool:
        """Whether this is the last split of the snapshot."""
        return self.splits is not None and self.index == self.splits - 1

    @property
    def order(self) -> tuple[int, int]:
        """The sort key of positions of one stream."""
        return self.snapshot_id, self.index

    def to_json(self) -> str:
        """The position as JSON for a checkpoint."""
        body = {"snapshotId": self.snapshot_id, "index": self.index, "scanSnapshot": self.full}
        return json.dumps(body if self.splits is None else body | {"totalSplits": self.splits})


def parse_position(text: str) -> Position:
    """Read a position from a checkpoint.

    Raises:
        InvalidInputError: the text is not a position.
    """
    try:
        body = load_json(text)
        number, index, total = int(body["snapshotId"]), int(body["index"]), body.get("totalSplits")
        return Position(number, index, bool(body["scanSnapshot"]), None if total is None else int(total))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInputError(
            f"The checkpoint's offset is not that of a Paimon table: {text}.", remedy="Use another checkpoint."
        ) from error


def _consumed(table: Table) -> Position | None:
    name = table.options.get(CONSUMER_ID)
    if not name or table.options.get(CONSUMER_IGNORE_PROGRESS):
        return None
    consumer = table.consumers.find(name)
    return Position(consumer.next_snapshot) if consumer else None


def _by_options(table: Table) -> Position:
    options, mode, latest = table.options, table.options.get(scan_options.SCAN_MODE), table.snapshots.latest_id() or 0
    number: int | None = options.get(scan_options.SCAN_SNAPSHOT_ID)
    millis: int | None = options.get(scan_options.SCAN_TIMESTAMP_MILLIS)
    if text := options.get(scan_options.SCAN_TIMESTAMP):
        millis = parse_instant(text)
    match mode:
        case "default" | "from-snapshot" | "from-snapshot-full" if number is not None:
            return Position(number, full=mode == "from-snapshot-full")
        case "default" | "from-timestamp" if millis is not None:
            # The position before the first snapshot that was committed at that time or later.
            ids = range(table.snapshots.earliest_id() or FIRST_SNAPSHOT_ID, latest + 1)
            return Position(ids.start + bisect_left(ids, millis, key=lambda i: table.snapshots.get(i).time_millis))
        case "latest":
            return Position(latest + 1)
        case "default" | "latest-full" | "full" | "compacted-full":
            return Position(latest, full=True) if latest else Position(FIRST_SNAPSHOT_ID)
    raise InvalidOptionError(
        f"{table.name}: a stream cannot start with '{scan_options.SCAN_MODE.key}' = '{mode}' and its options.",
        key=scan_options.SCAN_MODE.key,
        remedy="Use latest, latest-full, from-snapshot with scan.snapshot-id or from-timestamp with scan.timestamp.",
    )
