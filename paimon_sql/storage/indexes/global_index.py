"""Building of a global index over a column: the rows without one, and the tasks that write its files.

Consecutive rows of a partition share index files: each covers all of these rows and contains some of their keys. Rows
that an index covers already are skipped, unless the column was changed since (spec: Global Index).
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
from paimon_sql.format.global_index.row_bitmaps import MAX_ROWS
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
from paimon_sql.storage.data_files.bucketed_groups import BucketedGroup, bucketed_groups_of
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
    covered_rows,
    global_entries,
    indexed_fields,
    meta_of,
    named_columns,
    of_another_type,
)
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.staged_files import gather
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
    """Writes the index files of consecutive rows of one partition.

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
        per_file = max(1, options.get(SORTED_INDEX_RECORDS_PER_RANGE))
        portions = max((self.rows[1] - self.rows[0]) // per_file, 1)
        portions = min(portions, max(1, options.get(SORTED_INDEX_BUILD_MAX_PARALLELISM)))
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
            read = read_group(
                self.table,
                bucketed.partition,
                bucketed.bucket,
                group,
                [field.name],
                deletion=self.deletions.get(group.anchor.file_name),
                row_ids=wanted,
            )
            for positions, batch in read:
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
        directory = self.table.options.get(GLOBAL_INDEX_EXTERNAL_PATH)
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


def run_index_task(task: IndexTask) -> CommitMessage:
    """Run a task; a module-level function, so that it can be pickled."""
    return task.run()


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
            f" '{column.kind.name}' cannot be over."
        )
    if snapshot is None:
        return IndexPlan()
    live = filter_partitions(table, live_files(table, snapshot).entries, partitions)
    chosen = set(pc.unique(live["partition"]).to_pylist())
    current = [e for e in global_entries(table, snapshot) if column.covers(e) and e.partition in chosen]
    changed = {
        *changed_since(table, live, current, column.field.id),
        *of_another_type(table, current, column.field),
    }
    # Files over the same rows contain some of the keys each, so they are replaced together.
    stale = {covered_rows(e) for e in current if e.file.file_name in changed}
    replaced = [e for e in current if covered_rows(e) in stale]
    indexed = covered(e for e in current if covered_rows(e) not in stale)
    deletions = deletions_of(table, snapshot)
    tasks = []
    for start, end, groups in _stretches(bucketed_groups_of(table, live), indexed):
        names = {p.group.anchor.file_name: (p.partition, p.bucket, p.group.anchor.file_name) for p in groups}
        vectors = {name: deletions[key] for name, key in names.items() if key in deletions}
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
    messages = gather(table, executor.map(run_index_task, plan.tasks), lambda message: [message])
    return [*messages, *drop_messages(plan.replaced)]


def drop_messages(entries: Sequence[IndexManifestEntry]) -> list[CommitMessage]:
    """The commit messages that delete index files."""
    return [CommitMessage(e.partition, e.bucket, 1, deleted_indexes=(e.file,)) for e in entries]
