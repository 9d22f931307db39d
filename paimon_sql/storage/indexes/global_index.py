"""Building of a global index over a column: its rows are sorted by key in portions, and written to index files."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.bytes.row_bitmaps import MAX_ROWS
from paimon_sql.format.global_index.base import GlobalIndexKind, SortedRows
from paimon_sql.format.global_index.keys import keys_of
from paimon_sql.format.global_index.registry import KINDS, NATIVE
from paimon_sql.format.layout.paths import global_index_name
from paimon_sql.format.metadata.index_manifest import (
    GlobalIndexMeta,
    IndexFileMeta,
    IndexManifestEntry,
    KeyRange,
    written_source,
)
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.table import index
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.data_files.file_groups import check_data_evolution
from paimon_sql.storage.data_files.live_files import (
    BucketedGroup,
    Deletion,
    bucketed_groups_of,
    deletions_of,
    filter_partitions,
    live_files,
)
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.expressions.row_id_ranges import RowIds
from paimon_sql.storage.merge.windows import spill_folder
from paimon_sql.storage.read.readers.data_evolution import GroupReader
from paimon_sql.storage.scan.global_index.entries import (
    changed_since,
    covered,
    covered_rows,
    global_entries,
    indexed_fields,
    meta_of,
    named_columns,
    of_another_type,
)
from paimon_sql.storage.scan.split import deletions_in
from paimon_sql.storage.staging.commit_messages import CommitMessage, gather
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class IndexColumn:
    """An indexed column.

    Attributes:
        field: the column.
        kind: the kind of index.
    """

    field: DataField
    kind: GlobalIndexKind

    def covers(self, entry: IndexManifestEntry) -> bool:
        """Whether an index file is of this column and kind."""
        return entry.file.index_type == self.kind.name and indexed_fields(meta_of(entry)) == (self.field.id,)


def index_column(table: Table, column: str, index_type: str) -> IndexColumn:
    """The column and the kind of index that a call names.

    Raises:
        InvalidInputError: the column or kind does not exist, or the table's rows have no ids.
        UnsupportedError: paimon-sql cannot build such an index.
    """
    check_data_evolution(table, "global indexes")
    name = index_type.strip().lower()
    if name in NATIVE:
        raise UnsupportedError(
            f"Indexes of the type '{name}' need a native library, which is not part of paimon-sql.",
            remedy=f"Supported types are {', '.join(KINDS)}.",
        )
    if name not in KINDS:
        raise InvalidInputError(
            f"Unknown global index type '{index_type}'.", remedy=f"Supported types are {', '.join(KINDS)}."
        )
    found = named_columns(table, column)
    if len(found) > 1:
        names = ", ".join(f.name for f in found)
        raise UnsupportedError(f"An index of the type '{name}' has one column, not {names}.")
    return IndexColumn(found[0], KINDS[name])


@dataclass(frozen=True)
class IndexTask:
    """Writes the index files of consecutive rows of one partition (spec: Global Index).

    Each file covers all of these rows and contains some of their keys.

    Attributes:
        table: the table, with the options of the call.
        column: the indexed column.
        rows: the ids of the rows, as first and last + 1.
        groups: the groups of files that contain the rows.
        deletions: their deletion vectors, by name of the groups' oldest files.
        snapshot_id: the snapshot that is read.
    """

    table: Table
    column: IndexColumn
    rows: tuple[int, int]
    groups: tuple[BucketedGroup, ...]
    deletions: dict[str, Deletion]
    snapshot_id: int

    def run(self) -> CommitMessage:
        """Write the files, which take effect with the commit; on an error they are deleted."""
        first = self.groups[0]
        options = self.table.options
        per_file = max(1, options.get(index.SORTED_INDEX_RECORDS_PER_RANGE))
        portions = max((self.rows[1] - self.rows[0]) // per_file, 1)
        portions = min(portions, max(1, options.get(index.SORTED_INDEX_BUILD_MAX_PARALLELISM)))
        files: list[IndexFileMeta] = []
        try:
            files.extend(map(self._written, sorted_portions(self._keyed(), portions, per_file)))
            if not files and self.column.kind.is_of_elements:
                files.append(self._written(self._without_keys()))  # marks the rows as covered
        except BaseException:
            self.table.file_io.delete_many([self._path(f) for f in files])
            raise
        return CommitMessage(first.partition, first.bucket, first.total_buckets, new_indexes=tuple(files))

    def _keyed(self) -> Iterator[Keyed]:
        """The keys of the live rows, each with its offset from the first row."""
        field, kind = self.column.field, self.column.kind
        start, end = self.rows
        for bucketed in self.groups:
            group = bucketed.group
            inside = start <= group.first_row_id and group.first_row_id + group.row_count <= end
            wanted = None if inside else RowIds(np.array([start]), np.array([end]))
            reader = GroupReader(self.table, bucketed.partition, bucketed.bucket, group)
            deletion = self.deletions.get(group.anchor.file_name)
            for positions, batch in reader.read([field.name], deletion=deletion, row_ids=wanted):
                rows, values = positions + group.first_row_id, batch.column(0)
                if not inside:
                    selected = (rows >= start) & (rows < end)
                    rows, values = rows[selected], values.filter(pa.array(selected))
                if len(rows):
                    yield kind.keyed(field.type, values, rows - start)

    def _without_keys(self) -> SortedRows:
        none = np.zeros(0, np.int64)
        values = pa.array([], arrow_type(self.column.field.type))
        return SortedRows(self.column.kind.keyed(self.column.field.type, values, none)[0], none, none)

    def _written(self, rows: SortedRows) -> IndexFileMeta:
        keys, kind = keys_of(self.column.field.type), self.column.kind
        name = global_index_name(kind.name, str(uuid.uuid4()))
        directory = self.table.options.get(index.GLOBAL_INDEX_EXTERNAL_PATH)
        external = f"{directory.rstrip('/')}/{name}" if directory else None
        path = self.table.paths.index(name, external)
        roots = self.table.manifests.external_roots
        roots.check(pa.array([external], pa.string()), "the new index file", self.table.path)
        size = 0
        try:
            with self.table.file_io.open_output(path) as out:
                for piece in kind.write(rows, keys, self.table.options):
                    out.write(piece)
                    size += len(piece)
        except BaseException:
            self.table.file_io.delete(path)
            raise
        first = last = None
        if len(rows.keys):
            first, last = keys.encoded(rows.keys.take(pa.array([0, len(rows.keys) - 1]))).to_pylist()
        meta = GlobalIndexMeta(
            self.rows[0],
            self.rows[1] - 1,
            self.column.field.id,
            index_meta=KeyRange(first, last, has_nulls=bool(len(rows.nulls))).write(),
            source_meta=written_source(self.snapshot_id),
        )
        count = self.rows[1] - self.rows[0] if kind.is_of_elements else len(rows)
        return IndexFileMeta(kind.name, name, size, count, external_path=external, global_index=meta)

    def _path(self, file: IndexFileMeta) -> str:
        return self.table.paths.index(file.file_name, file.external_path)


@dataclass(frozen=True)
class IndexPlan:
    """The tasks of an index build, and the index files to replace, whose rows were changed."""

    tasks: list[IndexTask] = field(default_factory=list)
    replaced: list[IndexManifestEntry] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """The number of rows to index, deleted ones included."""
        return sum(task.rows[1] - task.rows[0] for task in self.tasks)


def plan_index(table: Table, column: IndexColumn, snapshot: Snapshot | None, partitions: Predicate | None) -> IndexPlan:
    """Plan the missing parts of an index of a snapshot's rows.

    Rows that an index covers already are skipped, unless the column was changed since.

    Args:
        table: the table, with the options of the call.
        column: the indexed column.
        snapshot: the snapshot.
        partitions: a condition on the partitions; None for all.

    Raises:
        UnsupportedError: the kind of index does not support the column's type.
    """
    if not column.kind.supports(column.field.type):
        raise UnsupportedError(
            f"Column '{column.field.name}' is {column.field.type.sql()}, which an index of the type"
            f" '{column.kind.name}' does not support."
        )
    if snapshot is None:
        return IndexPlan()
    live = filter_partitions(table, live_files(table, snapshot).entries, partitions)
    chosen = set(pc.unique(live["partition"]).to_pylist())
    current = [e for e in global_entries(table, snapshot) if column.covers(e) and e.partition in chosen]
    changed = {*changed_since(table, live, current, column.field.id), *of_another_type(table, current, column.field)}
    # Files over the same rows contain some of the keys each, so they are replaced together.
    stale = {covered_rows(e) for e in current if e.file.file_name in changed}
    replaced = [e for e in current if covered_rows(e) in stale]
    indexed = covered(e for e in current if covered_rows(e) not in stale)
    deletions = deletions_of(table, snapshot)
    tasks = []
    for start, end, groups in _stretches(bucketed_groups_of(table, live), indexed):
        vectors = deletions_in(deletions, (groups[0].partition, groups[0].bucket), (p.group.anchor for p in groups))
        tasks.append(IndexTask(table, column, (start, end), groups, vectors, snapshot.id))
    return IndexPlan(tasks, replaced)


def _stretches(
    groups: Sequence[BucketedGroup], indexed: RowIds
) -> Iterator[tuple[int, int, tuple[BucketedGroup, ...]]]:
    """Consecutive rows of one bucket that no index covers, with the groups that contain them."""
    start = end = 0
    run: list[BucketedGroup] = []
    for bucketed in sorted(groups, key=lambda p: (p.partition, p.bucket, p.group.first_row_id)):
        for low, high in _gaps(bucketed.group.first_row_id, bucketed.group.row_count, indexed):
            continues = run and (run[-1].partition, run[-1].bucket, end) == (bucketed.partition, bucketed.bucket, low)
            if not continues or high - start > MAX_ROWS:
                if run:
                    yield start, end, tuple(run)
                start, run = low, []
            end = high
            if not run or run[-1] is not bucketed:
                run.append(bucketed)
    if run:
        yield start, end, tuple(run)


def _gaps(first: int, count: int, indexed: RowIds) -> Iterator[tuple[int, int]]:
    """The parts of a range of rows that are not covered."""
    inside = indexed.within(first, first + count)
    starts = np.concatenate([[first], inside.ends])
    ends = np.concatenate([inside.starts, [first + count]])
    return ((low, high) for low, high in zip(starts.tolist(), ends.tolist(), strict=True) if low < high)


def build_index(table: Table, executor: Executor, plan: IndexPlan) -> list[CommitMessage]:
    """Run the tasks of a plan, and return what to commit; if a task fails, the files of all are deleted."""
    messages = gather(table, executor.run(plan.tasks), lambda message: [message])
    return [*messages, *drop_messages(plan.replaced)]


def drop_messages(entries: Sequence[IndexManifestEntry]) -> list[CommitMessage]:
    """The commit messages that delete index files."""
    return [CommitMessage(e.partition, e.bucket, 1, deleted_indexes=(e.file,)) for e in entries]


Longs = npt.NDArray[np.int64]
Keyed = tuple[pa.Array, Longs]
"""Keys, null allowed, and the row of each, in ascending order of rows."""

_SLACK = 1.2
"""The max size of a portion, as a multiple of its intended size."""
_SAMPLES = 1000
"""The number of sampled rows per portion."""
_SEED = 42


def sorted_portions(batches: Iterable[Keyed], portions: int, most_rows: int) -> Iterator[SortedRows]:
    """Sort rows by key and cut them into portions.

    Their key ranges do not overlap, so that few lookups need an index file; the borders are those of a sample.

    Args:
        batches: the rows in order.
        portions: the approximate number of portions.
        most_rows: the intended number of rows of a portion.
    """
    if portions < 2:
        if parts := list(batches):
            keys = pa.concat_arrays([keys for keys, _ in parts])
            yield from _cut(keys, np.concatenate([rows for _, rows in parts]), most_rows)
        return
    with spill_folder() as directory:
        path = Path(directory, "rows.arrow")
        sample = _spilled(batches, path, portions * _SAMPLES)
        if sample is None:
            return
        for file in _partitioned(path, _borders(sample, portions), Path(directory)):
            with pa.OSFile(str(file)) as source:
                table = pa.ipc.open_stream(source).read_all()
            file.unlink()
            if len(table):
                rows = table["row"].to_numpy().astype(np.int64, copy=False)
                yield from _cut(table["key"].combine_chunks(), rows, most_rows)


def _cut(keys: pa.Array, rows: Longs, most_rows: int) -> Iterator[SortedRows]:
    """Sort rows, in several portions if they are too many for one; nulls first."""
    nulls = rows[pc.is_null(keys).to_numpy(zero_copy_only=False)] if keys.null_count else rows[:0]
    if keys.null_count:
        valid = pc.is_valid(keys)
        keys, rows = keys.filter(valid), rows[valid.to_numpy(zero_copy_only=False)]
    order = pc.sort_indices(keys)
    keys, rows = keys.take(order), rows[order.to_numpy().astype(np.int64)]
    max_rows = max(1, int(most_rows * _SLACK))
    total = len(nulls) + len(rows)
    for start in range(0, total, max_rows):
        end = min(start + max_rows, total)
        low, high = max(0, start - len(nulls)), max(0, end - len(nulls))
        yield SortedRows(keys.slice(low, high - low), rows[low:high], nulls[start:end])


def _spilled(batches: Iterable[Keyed], path: Path, wanted: int) -> pa.Array | None:
    """Write the rows to a file, and return the keys of a sample; None without rows."""
    rng = np.random.default_rng(_SEED)
    writer: pa.RecordBatchStreamWriter | None = None
    sample: list[pa.Array] = []
    seen = 0
    with pa.OSFile(str(path), "wb") as sink:
        for keys, rows in batches:
            batch = pa.record_batch({"key": keys, "row": pa.array(rows)})
            if writer is None:
                writer = pa.ipc.new_stream(sink, batch.schema)
            writer.write_batch(batch)
            seen += len(keys)
            # Proportional to the batch's share of the rows so far, at least one.
            count = min(len(keys), max(1, wanted * len(keys) // max(seen, 1)))
            sample.append(keys.take(pa.array(rng.choice(len(keys), count, replace=False))).drop_null())
        if writer is None:
            return None
        writer.close()
    return pa.concat_arrays(sample)


def _borders(sample: pa.Array, portions: int) -> pa.Array:
    """The distinct keys that divide a sample into portions of about equal size."""
    ordered = sample.take(pc.sort_indices(sample))
    positions = np.unique((np.arange(1, portions) * len(ordered)) // portions)
    return pc.unique(ordered.take(pa.array(positions[positions < len(ordered)])))


def _partitioned(path: Path, borders: pa.Array, directory: Path) -> list[Path]:
    """Distribute the rows of a file to one file per portion, in the order of rows."""
    paths = [Path(directory, f"part-{i}.arrow") for i in range(len(borders) + 1)]
    with pa.OSFile(str(path)) as source:
        reader = pa.ipc.open_stream(source)
        sinks = [pa.OSFile(str(p), "wb") for p in paths]
        writers = [pa.ipc.new_stream(sink, reader.schema) for sink in sinks]
        try:
            for batch in reader:
                numbers = _portions_of(batch.column("key"), borders)
                for i in np.unique(numbers).tolist():
                    writers[i].write_batch(batch.filter(pa.array(numbers == i)))
        finally:
            for writer, sink in zip(writers, sinks, strict=True):
                writer.close()
                sink.close()
    path.unlink()
    return paths


def _portions_of(keys: pa.Array, borders: pa.Array) -> Longs:
    """The portion of each key: the number of borders that are not greater; nulls belong to the first portion."""
    valued = np.flatnonzero(pc.is_valid(keys).to_numpy(zero_copy_only=False))
    numbers, found = np.zeros(len(keys), np.int64), np.zeros(len(valued), np.int64)
    order = pc.sort_indices(pa.concat_arrays([borders, keys.drop_null()])).to_numpy().astype(np.int64)
    is_border = order < len(borders)
    found[order[~is_border] - len(borders)] = np.cumsum(is_border)[~is_border]
    numbers[valued] = found
    return numbers
