"""Building a global index over a column: which rows lack one, and the tasks that make its files.

Rows of a partition that follow one another get index files together: each covers all of these rows and holds some of
their keys. What an index covers already is left alone, unless the column was changed since (spec: Global Index).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.global_index.base import GlobalIndexKind, SortedRows
from paimon_sql.format.global_index.keys import keys_of
from paimon_sql.format.global_index.meta import KeyRange, written_source
from paimon_sql.format.global_index.registry import KINDS, NATIVE
from paimon_sql.format.global_index.row_bitmaps import MOST_ROWS
from paimon_sql.format.layout.paths import global_index_name
from paimon_sql.format.metadata.index_manifest import GlobalIndexMeta, IndexFileMeta, IndexManifestEntry
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.table.index import (
    GLOBAL_INDEX_EXTERNAL_PATH,
    SORTED_INDEX_BUILD_MAX_PARALLELISM,
    SORTED_INDEX_RECORDS_PER_RANGE,
)
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.data_files.bucketed_groups import BucketedGroup, placed_in
from paimon_sql.storage.data_files.deletion_vectors import Deletion, deletions_of
from paimon_sql.storage.data_files.file_groups import check_data_evolution
from paimon_sql.storage.data_files.live_files import filter_partitions, live_files
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.expressions.row_id_ranges import RowIds
from paimon_sql.storage.indexes.sorted_rows import Keyed, sorted_portions
from paimon_sql.storage.read.readers.data_evolution import read_group
from paimon_sql.storage.scan.global_index.entries import (
    changed_since,
    covered,
    global_entries,
    indexed_fields,
    meta_of,
    named_columns,
    of_another_type,
    rows_named,
)
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.staged_files import gather
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class IndexColumn:
    """What an index is made of.

    Attributes:
        field: the column.
        kind: the kind of index.
    """

    field: DataField
    kind: GlobalIndexKind

    def covers(self, entry: IndexManifestEntry) -> bool:
        """Whether an index file is of such an index."""
        return entry.file.index_type == self.kind.name and indexed_fields(meta_of(entry)) == (self.field.id,)


def index_column(table: Table, column: str, index_type: str) -> IndexColumn:
    """The column and the kind of index that a call names.

    Raises:
        InvalidInputError: there is no such column or kind, or the table's rows have no ids.
        UnsupportedError: such an index cannot be made of the column here.
    """
    check_data_evolution(table, "global indexes")
    name = index_type.strip().lower()
    if name in NATIVE:
        raise UnsupportedError(
            f"Indexes of the type '{name}' need a native library, which is not part of paimon-sql.",
            remedy=f"Types that can be made are {', '.join(KINDS)}.",
        )
    if name not in KINDS:
        raise InvalidInputError(
            f"There is no global index of the type '{index_type}'.", remedy=f"Types are {', '.join(KINDS)}."
        )
    found = named_columns(table, column)
    if len(found) > 1:
        names = ", ".join(f.name for f in found)
        raise UnsupportedError(f"An index of the type '{name}' is over one column, not over {names}.")
    return IndexColumn(found[0], KINDS[name])


@dataclass(frozen=True)
class IndexTask:
    """Makes the index files of rows of one partition that follow one another.

    Attributes:
        table: the table, under the options of the call.
        column: what the index is made of.
        rows: the ids of the rows, from the first up to the one behind the last.
        groups: the files that hold the rows.
        deletions: the deletion vectors that they have, by the names of the groups' oldest files.
        snapshot_id: the snapshot that is read.
    """

    table: Table
    column: IndexColumn
    rows: tuple[int, int]
    groups: tuple[BucketedGroup, ...]
    deletions: dict[str, Deletion]
    snapshot_id: int

    def run(self) -> CommitMessage:
        """Make them; nobody sees them until the message is committed, and on an error none is left."""
        place = self.groups[0]
        options = self.table.options
        per_file = max(1, options.get(SORTED_INDEX_RECORDS_PER_RANGE))
        portions = max((self.rows[1] - self.rows[0]) // per_file, 1)
        portions = min(portions, max(1, options.get(SORTED_INDEX_BUILD_MAX_PARALLELISM)))
        files: list[IndexFileMeta] = []
        try:
            files.extend(map(self._written, sorted_portions(self._keyed(), portions, per_file)))
            if not files and self.column.kind.is_of_elements:
                files.append(self._written(self._without_keys()))  # it covers the rows all the same
        except BaseException:
            self.table.file_io.delete_many([self._path(f) for f in files])
            raise
        return CommitMessage(place.partition, place.bucket, place.total_buckets, new_indexes=tuple(files))

    def _keyed(self) -> Iterator[Keyed]:
        """The keys of the rows that live, each with its distance from the first row."""
        field, kind = self.column.field, self.column.kind
        start, end = self.rows
        for placed in self.groups:
            group = placed.group
            inside = start <= group.first_row_id and group.first_row_id + group.row_count <= end
            wanted = None if inside else RowIds(np.array([start]), np.array([end]))
            read = read_group(
                self.table,
                placed.partition,
                placed.bucket,
                group,
                [field.name],
                deletion=self.deletions.get(group.anchor.file_name),
                row_ids=wanted,
            )
            for places, batch in read:
                rows, values = places + group.first_row_id, batch.column(0)
                if not inside:
                    kept = (rows >= start) & (rows < end)
                    rows, values = rows[kept], values.filter(pa.array(kept))
                if len(rows):
                    yield kind.keyed(field.type, values, rows - start)

    def _without_keys(self) -> SortedRows:
        none = np.zeros(0, np.int64)
        values = pa.array([], arrow_type(self.column.field.type))
        return SortedRows(self.column.kind.keyed(self.column.field.type, values, none)[0], none, none)

    def _written(self, rows: SortedRows) -> IndexFileMeta:
        keys, kind = keys_of(self.column.field.type), self.column.kind
        name = global_index_name(kind.name, str(uuid.uuid4()))
        folder = self.table.options.get(GLOBAL_INDEX_EXTERNAL_PATH)
        external = f"{folder.rstrip('/')}/{name}" if folder else None
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


def run_index_task(task: IndexTask) -> CommitMessage:
    """Run one task; a function of the module, so that it can be sent to a worker."""
    return task.run()


@dataclass(frozen=True)
class IndexPlan:
    """What is to be built, and the index files that it replaces, as their rows' values were changed."""

    tasks: list[IndexTask] = field(default_factory=list)
    replaced: list[IndexManifestEntry] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """How many rows are to be indexed, deleted ones among them."""
        return sum(task.rows[1] - task.rows[0] for task in self.tasks)


def plan_index(table: Table, column: IndexColumn, snapshot: Snapshot | None, partitions: Predicate | None) -> IndexPlan:
    """What an index of a snapshot's rows lacks.

    Args:
        table: the table, under the options of the call.
        column: what the index is made of.
        snapshot: the snapshot.
        partitions: true for the partitions that are looked at; None for all.

    Raises:
        UnsupportedError: the column's type cannot be indexed so.
    """
    if not column.kind.takes(column.field.type):
        raise UnsupportedError(
            f"Column '{column.field.name}' is {column.field.type.sql()}, which an index of the type"
            f" '{column.kind.name}' cannot be over."
        )
    if snapshot is None:
        return IndexPlan()
    live = filter_partitions(table, live_files(table, snapshot).entries, partitions)
    chosen = set(pc.unique(live["partition"]).to_pylist())
    held = [e for e in global_entries(table, snapshot) if column.covers(e) and e.partition in chosen]
    changed = {
        *changed_since(table, live, held, column.field.id),
        *of_another_type(table, held, column.field),
    }
    # Files over the same rows hold some of the keys each, so they go together.
    stale = {rows_named(e) for e in held if e.file.file_name in changed}
    replaced = [e for e in held if rows_named(e) in stale]
    done = covered(e for e in held if rows_named(e) not in stale)
    deletions = deletions_of(table, snapshot)
    tasks = []
    for start, end, groups in _stretches(placed_in(table, live), done):
        names = {p.group.anchor.file_name: (p.partition, p.bucket, p.group.anchor.file_name) for p in groups}
        theirs = {name: deletions[key] for name, key in names.items() if key in deletions}
        tasks.append(IndexTask(table, column, (start, end), groups, theirs, snapshot.id))
    return IndexPlan(tasks, replaced)


def _stretches(groups: Sequence[BucketedGroup], done: RowIds) -> Iterator[tuple[int, int, tuple[BucketedGroup, ...]]]:
    """Rows of one bucket that follow one another and that no index covers, with the groups that hold them."""
    start = end = 0
    held: list[BucketedGroup] = []
    for placed in sorted(groups, key=lambda p: (p.partition, p.bucket, p.group.first_row_id)):
        for low, high in _gaps(placed.group.first_row_id, placed.group.row_count, done):
            goes_on = held and (held[-1].partition, held[-1].bucket, end) == (placed.partition, placed.bucket, low)
            if not goes_on or high - start > MOST_ROWS:
                if held:
                    yield start, end, tuple(held)
                start, held = low, []
            end = high
            if not held or held[-1] is not placed:
                held.append(placed)
    if held:
        yield start, end, tuple(held)


def _gaps(first: int, count: int, done: RowIds) -> Iterator[tuple[int, int]]:
    """The parts of a range of rows that are not done."""
    inside = done.within(first, first + count)
    starts = np.concatenate([[first], inside.ends])
    ends = np.concatenate([inside.starts, [first + count]])
    return ((low, high) for low, high in zip(starts.tolist(), ends.tolist(), strict=True) if low < high)


def build_index(table: Table, executor: Executor, plan: IndexPlan) -> list[CommitMessage]:
    """Do what is planned; what is to be committed. If a task fails, nothing is left of the others."""
    answers = gather(table, executor.map(run_index_task, plan.tasks), lambda message: [message])
    return [*answers, *dropped(plan.replaced)]


def dropped(entries: Sequence[IndexManifestEntry]) -> list[CommitMessage]:
    """What is to be committed so that index files go."""
    return [CommitMessage(e.partition, e.bucket, 1, deleted_indexes=(e.file,)) for e in entries]
