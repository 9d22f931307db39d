"""Writers of append and of primary-key tables, and the buffers of their rows by bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.write import WRITE_BUFFER_MAX_DISK_SIZE, WRITE_BUFFER_SPILLABLE
from paimon_sql.format.schema.system_fields import KEY_PREFIX, SEQUENCE_NUMBER, VALUE_KIND
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.merge.sequence import sequence_fields
from paimon_sql.storage.merge.windows import RowOrder, Run, Window, merged_windows, spill, spill_folder
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.changelog_producer import changelog_producer
from paimon_sql.storage.table.partitions import UNAWARE, Router
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.rolling import RollingWriter, aborted_on_error
from paimon_sql.storage.write.row_preparation import RowKindReader
from paimon_sql.storage.write.settings import ChangelogSettings, FileNamer, WriteSettings

Target = tuple[bytes, int]
"""A partition, serialized, and a bucket."""


@dataclass(eq=False)
class BucketBuffers:
    """Buffers batches by partition and bucket.

    When the buffers exceed the capacity, the largest are flushed until half of it is free. With a portion, a bucket is
    also flushed as soon as it reaches it.

    Attributes:
        capacity: the max bytes of all buffers.
        receiver: receives a bucket's rows; it must not keep them.
        relief: receives the rows that exceed the capacity, instead of ``receiver``.
        portion: the bytes of a bucket's rows at which it is flushed.
    """

    capacity: int
    receiver: Callable[[Target, pa.Table], None]
    relief: Callable[[Target, pa.Table], None] | None = None
    portion: int | None = None

    def __post_init__(self) -> None:
        self._batches: dict[Target, list[pa.RecordBatch]] = {}
        self._sizes: dict[Target, int] = {}
        self._total = 0

    def add(self, target: Target, rows: pa.RecordBatch) -> None:
        """Buffer rows of one bucket."""
        size = rows.nbytes
        self._batches.setdefault(target, []).append(rows)
        self._sizes[target] = self._sizes.get(target, 0) + size
        self._total += size
        if self.portion is not None and self._sizes[target] >= self.portion:
            self._flush_to(target, self.receiver)
        elif self._total > self.capacity:
            self._relieve()

    def flush(self) -> None:
        """Flush all buckets, in the order of their first rows."""
        for target in list(self._batches):
            self._flush_to(target, self.receiver)

    def _relieve(self) -> None:
        for target in sorted(self._sizes, key=lambda t: -self._sizes[t]):
            if self._total <= self.capacity // 2:
                break
            self._flush_to(target, self.relief or self.receiver)
        # The rest is often a few rows sliced from a batch, and would keep all of the batch in memory.
        for target, batches in self._batches.items():
            rows = pa.Table.from_batches(batches)
            self._batches[target] = rows.take(np.arange(len(rows))).combine_chunks().to_batches()

    def _flush_to(self, target: Target, receiver: Callable[[Target, pa.Table], None]) -> None:
        rows = pa.Table.from_batches(self._batches.pop(target))
        self._total -= self._sizes.pop(target)
        receiver(target, rows)


_MIN_ROW_GROUP, _GOOD_ROW_GROUP = 1024 * 1024, 64 * 1024 * 1024
_PORTION = 16 * 1024 * 1024
"""The bytes of rows that are written to a file at a time: about a row group, so that no row group waits for more."""
_OPEN_FILES = 100
"""The max number of open files; operating systems allow about a thousand."""


class AppendWriter:
    """Writes rows of an append table (Paimon: `AppendOnlyWriter`).

    File writers hold rows in memory until they fill a row group, so row groups become smaller with more partitions. If
    the open files still hold more than the write buffer's size, or are too many, those that hold the most are closed
    before they reach their target size.

    Args:
        table: the table.
        sequences: the max sequence number by partition and bucket, for tables with fixed buckets.
        router: assigns rows to buckets, for tables with fixed buckets.
        settings: the options and columns; the table's by default.
    """

    def __init__(
        self,
        table: Table,
        sequences: Mapping[Target, int] | None = None,
        router: Router | None = None,
        settings: WriteSettings | None = None,
    ) -> None:
        self._table = table
        self._settings = settings or WriteSettings(table.schema)
        self._sequences = sequences or {}
        self._total = self._settings.buckets if self._settings.buckets > 0 else UNAWARE
        self._router = router or Router(table.schema, self._total)
        self._namer = FileNamer(self._settings.file_prefix)
        self._writers: dict[Target, RollingWriter] = {}
        self._buffers = BucketBuffers(self._settings.buffer_size, self._flush, portion=_PORTION)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows; the columns are those of the data files, in any order."""
        ordered = batch.select(list(self._settings.input_columns))
        for partition, bucket, rows in self._router.split(ordered):
            self._buffers.add((partition, bucket), rows)

    def write_stored(self, batch: pa.RecordBatch) -> None:
        """Write rows that were read from files."""
        self.write(batch)

    def close(self) -> list[CommitMessage]:
        """Finish all files."""
        self._buffers.flush()
        return [
            CommitMessage(partition, bucket, self._total, new_files=tuple(writer.close()))
            for (partition, bucket), writer in self._writers.items()
        ]

    def abort(self) -> None:
        """Delete all files that were written."""
        for writer in self._writers.values():
            writer.abort()

    def _flush(self, target: Target, rows: pa.Table) -> None:
        if target not in self._writers:
            self._writers[target] = RollingWriter(
                self._table,
                self._settings,
                *target,
                namer=self._namer,
                first_sequence=self._sequences.get(target, -1) + 1,
                row_group=self._row_group,
            )
        for batch in rows.to_batches():
            self._writers[target].write(batch)
        self._relieve()

    def _row_group(self) -> int | None:
        share = max(_MIN_ROW_GROUP, self._settings.buffer_size // (2 * max(1, len(self._writers))))
        return share if share < _GOOD_ROW_GROUP else None

    def _relieve(self) -> None:
        unfinished = {w: w.unfinished for w in self._writers.values() if w.unfinished}
        in_memory = sum(unfinished.values())
        for writer in sorted(unfinished, key=lambda w: -unfinished[w]):
            if len(unfinished) <= _OPEN_FILES and in_memory <= self._settings.buffer_size:
                return
            writer.finish()
            in_memory -= unfinished.pop(writer)


class SpilledRuns:
    """Sorted runs in local files.

    Args:
        options: the table's options, which set the compression.
    """

    def __init__(self, options: TableOptions) -> None:
        self._options = options
        self._directory: TemporaryDirectory[str] | None = None
        self._runs: dict[Target, list[tuple[Run, Path]]] = {}
        self._count = 0
        self.disk_bytes = 0

    @property
    def targets(self) -> list[Target]:
        """The buckets that have runs."""
        return list(self._runs)

    def add(self, target: Target, window: Window) -> None:
        """Spill sorted rows, which are newer than the bucket's other runs."""
        if self._directory is None:
            self._directory = spill_folder()
        path = Path(self._directory.name, f"{self._count}.arrow")
        self._count += 1
        self._runs.setdefault(target, []).append((spill([window], path, self._options, path.name), path))
        self.disk_bytes += path.stat().st_size

    @contextmanager
    def taken(self, target: Target) -> Iterator[list[Run]]:
        """The runs of a bucket; deleted afterwards."""
        found = self._runs.pop(target, [])
        yield [run for run, _ in found]
        for _, path in found:
            self.disk_bytes -= path.stat().st_size
            path.unlink()

    def close(self) -> None:
        """Delete all files."""
        self._runs.clear()
        if self._directory is not None:
            self._directory.cleanup()


class KeyValueWriter:
    """Writes rows of a primary-key table (Paimon: `MergeTreeWriter`).

    Row kinds are read from a column ``_VALUE_KIND``, or else from the column that the option ``rowkind.field`` names;
    without either, all rows are inserts.

    Args:
        table: the table.
        sequences: the max sequence number by partition and bucket.
        router: assigns rows to buckets; by default by key, to the number of buckets that the option ``bucket`` sets.
    """

    def __init__(self, table: Table, sequences: Mapping[Target, int], router: Router | None = None) -> None:
        self._table = table
        self._settings = WriteSettings(table.schema)
        self._sequences = sequences
        self._next: dict[Target, int] = {}
        self._router = router or Router(table.schema, self._settings.buckets)
        self._producer = changelog_producer(table.options)
        self._changelog = ChangelogSettings(table.schema) if self._producer.from_input else None
        self._namers: dict[str, FileNamer] = {}
        self._engine = merge_engine(table.schema)
        self._kinds = RowKindReader(table)
        self._order = RowOrder(table.schema.trimmed_primary_keys, tuple(sequence_fields(table.schema.options)))
        self._spilled = SpilledRuns(table.options)
        # Generations of rows that must not be merged with each other are written without a spill.
        spills = table.options.get(WRITE_BUFFER_SPILLABLE) and not self._engine.merges_all_at_once
        self._buffers = BucketBuffers(self._settings.buffer_size, self._flush, self._spill if spills else None)
        self._messages: list[CommitMessage] = []
        self._columns = [*table.schema.names, VALUE_KIND.name, *self._router.extra]

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows; the columns are those of the table, in any order.

        Raises:
            ConstraintViolationError: a key column holds a null, or the merge engine rejects a row kind.
        """
        self.write_stored(self._engine.prepare(self._kinds.given(batch)))

    def write_stored(self, batch: pa.RecordBatch) -> None:
        """Write rows that were read from files: with row kinds, and values as the merge engine stores them."""
        for partition, bucket, rows in self._router.split(batch.select(self._columns)):
            self._take((partition, bucket), rows)

    def close(self) -> list[CommitMessage]:
        """Write the buffered rows; return one or more messages per bucket."""
        self._buffers.flush()
        self._write_spilled()
        self._spilled.close()
        return self._messages

    def abort(self) -> None:
        """Delete all files that were written."""
        self._spilled.close()
        locations = self._table.locations
        self._table.file_io.delete_many(
            path
            for m in self._messages
            for f in (*m.new_files, *m.changelog_files)
            for path in locations.files_of(m.partition, m.bucket, f)
        )

    def _take(self, target: Target, rows: pa.RecordBatch) -> None:
        self._buffers.add(target, rows)

    def _flush(self, target: Target, rows: pa.Table) -> None:
        window = self._window(target, rows)
        with self._spilled.taken(target) as runs:
            if runs:
                self._write(target, merged_windows([*runs, _run_of(window)], self._order, self._table.options))
                return
        for generation in self._engine.split(window):
            self._write(target, [generation])

    def _spill(self, target: Target, rows: pa.Table) -> None:
        self._spilled.add(target, self._window(target, rows))
        if self._spilled.disk_bytes > self._table.options.get(WRITE_BUFFER_MAX_DISK_SIZE):
            self._write_spilled()

    def _write_spilled(self) -> None:
        for target in self._spilled.targets:
            with self._spilled.taken(target) as runs:
                self._write(target, merged_windows(runs, self._order, self._table.options))

    def _window(self, target: Target, rows: pa.Table) -> Window:
        """The rows with sequence numbers, sorted."""
        first = self._next[target] if target in self._next else self._sequences.get(target, -1) + 1
        self._next[target] = first + len(rows)
        numbers = pa.array(np.arange(first, first + len(rows), dtype=np.int64))
        numbered = rows.append_column(SEQUENCE_NUMBER.name, pa.chunked_array([numbers]))
        return Window(numbered, *self._order.sort(numbered))

    def _write(self, target: Target, windows: Iterable[Window]) -> None:
        """Write windows of ascending keys as one sorted run; on an error its files are deleted."""
        files = self._opened(self._settings, target)
        changes = self._opened(self._changelog, target) if self._changelog else None
        with aborted_on_error(*(writer for writer in (files, changes) if writer is not None)):
            for window in windows:
                if changes is not None and self._changelog is not None:
                    _append(changes, self._changelog, self._producer.written(window.table.take(window.order)))
                _append(files, self._settings, self._engine.merge(window))
            changelog = tuple(changes.close()) if changes is not None else ()
            total = self._router.total_buckets(target[0])
            self._messages.append(
                CommitMessage(*target, total, new_files=tuple(files.close()), changelog_files=changelog)
            )

    def _opened(self, settings: WriteSettings, target: Target) -> RollingWriter:
        namer = self._namers.setdefault(settings.file_prefix, FileNamer(settings.file_prefix))
        return RollingWriter(self._table, settings, *target, namer=namer)


def _append(writer: RollingWriter, settings: WriteSettings, rows: pa.Table) -> None:
    for batch in as_stored(settings, rows).to_batches(max_chunksize=1_000_000):
        writer.write(batch)


def _run_of(window: Window) -> Run:
    """The rows of a window as a sorted run."""

    def read(batch_rows: int) -> Iterator[pa.RecordBatch]:
        for piece in window.pieces(batch_rows):
            yield from piece.to_batches()

    return Run(len(window.table), window.table.nbytes, read, "the rows in memory")


def as_stored(settings: WriteSettings, rows: pa.Table) -> pa.Table:
    """Merged rows with the columns of a data file, in its order; key columns are copies of value columns."""
    present, names = rows.column_names, [f.name for f in settings.stored_fields]
    return pa.table({name: rows[name if name in present else name.removeprefix(KEY_PREFIX)] for name in names})
