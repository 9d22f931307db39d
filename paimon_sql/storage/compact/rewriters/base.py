"""Base class of rewriters: files of a compaction are moved to the new level, or their rows merged and rewritten.

The rows of a changelog are the changes from the old rows of some keys to their merged rows (spec: Changelog Producer).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.metadata.index_manifest import IndexFileMeta
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.changelog import (
    CHANGELOG_PRODUCER_ROW_DEDUPLICATE,
    CHANGELOG_PRODUCER_ROW_DEDUPLICATE_IGNORE_FIELDS,
)
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import SEQUENCE_NUMBER, VALUE_KIND, RowKind
from paimon_sql.storage.data_files.live_files import Deletion
from paimon_sql.storage.data_files.lsm_tree import CompactUnit, Section
from paimon_sql.storage.expressions.kernels.equality import rows_equal
from paimon_sql.storage.expressions.kernels.sorting import NOWHERE, Indices, Mask
from paimon_sql.storage.merge.engines.base import is_retract, live_rows
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.merge.windows import RowOrder, Window
from paimon_sql.storage.read.readers.merge import current_windows
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.index_files import write_deletions
from paimon_sql.storage.table.record_expiration import RecordExpiration
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.rolling import RollingWriter, aborted_on_error
from paimon_sql.storage.write.settings import ChangelogSettings, WriteSettings
from paimon_sql.storage.write.writers import as_stored

_BATCH_ROWS = 262_144


@dataclass(frozen=True)
class BucketWork:
    """The compaction of one bucket of a table with a primary key.

    Attributes:
        table: the table.
        partition: the serialised partition row.
        bucket: the bucket.
        total_buckets: the number of buckets of the partition.
        unit: the files to merge, and their new level.
        drop_deletes: whether no older rows are below the result, so that deletes can be dropped.
        deletions: the deletion vectors of the bucket's files, by file name.
        below: the files on deeper levels than the result's.
        vectors_file: the index file of the deletion vectors, if there is one.
        expiry: the condition of expired rows, which are dropped; None if the table's rows do not expire.
        deep: the names of the bucket's files on level 1 and deeper, and of ``vectors_file``; None in a table without
            levels.
    """

    table: Table
    partition: bytes
    bucket: int
    total_buckets: int
    unit: CompactUnit
    drop_deletes: bool
    deletions: Mapping[str, Deletion] = field(default_factory=dict)
    below: tuple[DataFileMeta, ...] = ()
    vectors_file: IndexFileMeta | None = None
    expiry: RecordExpiration | None = None
    deep: frozenset[str] | None = None


@dataclass(frozen=True)
class Outcome:
    """Merged rows with the columns of a window, and their changes if the table has a changelog."""

    rows: pa.Table
    changes: pa.Table | None = None


class Rewriter:
    """Moves and rewrites a bucket's files; used for one task, with one message as its result.

    Subclasses override `outcomes` and `move`.
    """

    makes_changelog = False

    @classmethod
    def serves(cls, options: TableOptions) -> bool:
        """Whether tables with such options need this rewriter; the base class is for all others."""
        return False

    def __init__(self, work: BucketWork) -> None:
        self.work = work
        self.table = work.table
        self.settings = WriteSettings(work.table.schema)
        self.engine = merge_engine(work.table.schema)
        self._before: list[DataFileMeta] = []
        self._after: list[DataFileMeta] = []
        self._changelog: list[DataFileMeta] = []
        self._marked: dict[str, list[Indices]] = {}

    def move(self, file: DataFileMeta) -> None:
        """Move a file that overlaps no other of the unit to the new level."""
        if file.level != self.work.unit.output_level:
            self._before.append(file)
            self._after.append(file.upgrade(self.work.unit.output_level))

    def rewrite(self, sections: Sequence[Section]) -> None:
        """Merge sections and write the rows to the new level."""
        self._merge(sections, write=True)
        self._before.extend(f for section in sections for run in section.runs for f in run)

    def outcomes(self, section: Section) -> Iterator[Outcome]:
        """The merged rows of a section, window by window."""
        for window in current_windows(self.table, self.split, section, self.columns):
            yield Outcome(self.engine.merge(window))

    def mark(self, file: DataFileMeta, positions: Indices) -> None:
        """Mark rows of a remaining file as deleted."""
        self._marked.setdefault(file.file_name, []).append(positions)

    def message(self) -> CommitMessage:
        """Return the commit message, after writing the deletion vectors of the bucket if they change."""
        old, new = self._vectors()
        w = self.work
        return CommitMessage(
            w.partition,
            w.bucket,
            w.total_buckets,
            compact_before=tuple(self._before),
            compact_after=tuple(self._after),
            compact_changelog=tuple(self._changelog),
            compact_new_indexes=new,
            compact_deleted_indexes=old,
            compact_deep=w.deep,
        )

    def discard(self) -> None:
        """Delete all files that were written."""
        w = self.work
        existing = {f.file_name for f in self._before}
        written = [f for f in (*self._after, *self._changelog) if f.file_name not in existing]
        paths = [path for f in written for path in self.table.locations.files_of(w.partition, w.bucket, f)]
        self.table.file_io.delete_many(paths)

    @property
    def columns(self) -> list[str]:
        """The columns of a file's rows."""
        return [*self.table.schema.names, SEQUENCE_NUMBER.name, VALUE_KIND.name]

    @property
    def split(self) -> Split:
        """The files to merge, followed by those of deeper levels, as a split for readers."""
        w = self.work
        return Split(w.partition, w.bucket, (*w.unit.files, *w.below), False, (), w.deletions, w.expiry)

    def upgrade_with_changes(self, file: DataFileMeta) -> None:
        """Move a file, and write its rows to the changelog."""
        self._merge([Section(((file,),))], write=False)
        Rewriter.move(self, file)

    def _merge(self, sections: Sequence[Section], *, write: bool) -> None:
        data = self._opened(self.settings) if write else None
        changes = self._opened(ChangelogSettings(self.table.schema)) if self.makes_changelog else None
        with aborted_on_error(*(writer for writer in (data, changes) if writer is not None)):
            for section in sections:
                for outcome in self.outcomes(section):
                    if data is not None:
                        rows = outcome.rows
                        kept = live_rows(rows, rows.column_names) if self.work.drop_deletes else rows
                        self._write(data, kept)
                    if changes is not None and outcome.changes is not None:
                        self._write(changes, outcome.changes)
            self._after.extend(data.close() if data else ())
            self._changelog.extend(changes.close() if changes else ())

    def _opened(self, settings: WriteSettings) -> RollingWriter:
        w = self.work
        source = FileSource.APPEND if isinstance(settings, ChangelogSettings) else FileSource.COMPACT
        level = w.unit.output_level
        return RollingWriter(self.table, settings, w.partition, w.bucket, level=level, source=source)

    def _write(self, writer: RollingWriter, rows: pa.Table) -> None:
        for batch in as_stored(self.settings, rows).to_batches(max_chunksize=_BATCH_ROWS):
            writer.write(batch)

    def _vectors(self) -> tuple[tuple[IndexFileMeta, ...], tuple[IndexFileMeta, ...]]:
        """The old index file of deletion vectors, and the new one; both empty if nothing changes."""
        w = self.work
        remaining = {f.file_name for f in self._after}
        deleted = {f.file_name for f in self._before} - remaining
        if not self._marked and not deleted & w.deletions.keys():
            return (), ()
        io = self.table.file_io
        vectors = {name: d.read(io) for name, d in w.deletions.items() if name not in deleted}
        for name, positions in self._marked.items():
            added = DeletionVector(np.concatenate(positions))
            vectors[name] = vectors[name] | added if name in vectors else added
        old = (w.vectors_file,) if w.vectors_file else ()
        return old, write_deletions(self.table, w.partition, w.bucket, vectors) if vectors else ()


@dataclass(frozen=True)
class Versions:
    """For each key the index of its row in a table, or NOWHERE; rows that are deletes count as none."""

    table: pa.Table
    rows: Indices

    def living(self) -> Indices:
        """The indexes, NOWHERE for deletes too."""
        kinds = self.table[VALUE_KIND.name].to_numpy()
        if not len(kinds):
            return self.rows
        dead = (self.rows == NOWHERE) | is_retract(kinds[self.rows])
        return np.where(dead, NOWHERE, self.rows)


class ChangelogBuilder:
    """Builds changelog rows by the options of a table.

    Args:
        schema: the table's schema.
    """

    def __init__(self, schema: TableSchema) -> None:
        options = TableOptions(schema.options)
        ignored = (options.get(CHANGELOG_PRODUCER_ROW_DEDUPLICATE_IGNORE_FIELDS) or "").split(",")
        self._compared: Sequence[str] | None = None
        if options.get(CHANGELOG_PRODUCER_ROW_DEDUPLICATE):
            self._compared = [name for name in schema.names if name not in {i.strip() for i in ignored}]

    def changes(self, before: Versions, after: Versions, touched: Mask) -> pa.Table:
        """Return the changes of each key in order, the old row before the new one, with the columns of the new rows.

        Args:
            before: the old rows.
            after: the new rows, with the same columns or fewer.
            touched: the keys to compare; updates with equal rows are included, unless the option
                ``changelog-producer.row-deduplicate`` is set.
        """
        old, new = before.living(), after.living()
        had, has = (old != NOWHERE) & touched, (new != NOWHERE) & touched
        both = had & has
        if self._compared is not None and both.any():
            pairs = np.flatnonzero(both)
            same = rows_equal(before.table.take(old[pairs]), after.table.take(new[pairs]), self._compared)
            had[pairs[same]] = has[pairs[same]] = False
            both = had & has
        old_kind = np.where(both, RowKind.UPDATE_BEFORE, RowKind.DELETE)
        new_kind = np.where(both, RowKind.UPDATE_AFTER, RowKind.INSERT)
        included = np.stack([had, has], axis=1).ravel()
        rows = np.stack([old, new + len(before.table)], axis=1).ravel()[included]
        kinds = np.stack([old_kind, new_kind], axis=1).ravel()[included].astype(np.int8)
        columns = after.table.column_names
        stacked = pa.concat_tables([before.table.select(columns), after.table], promote_options="permissive")
        found = stacked.take(rows)
        return found.set_column(columns.index(VALUE_KIND.name), VALUE_KIND.name, pa.array(kinds))


def rows_by_key(schema: TableSchema, window: Window, merged: pa.Table) -> Indices:
    """For each key of the window the index of its merged row; NOWHERE for a key without one."""
    count = len(window.starts)
    if len(merged) == count:
        return np.arange(count)
    names = schema.trimmed_primary_keys
    keys = window.table.select(list(names)).take(window.oldest)
    order, starts = RowOrder(names).sort(pa.concat_tables([keys, merged.select(list(names))]))
    found = np.full(count, NOWHERE, dtype=np.int64)
    groups = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
    # Each key of the window starts a group, followed by its merged row.
    is_merged = order >= count
    found[groups[is_merged]] = order[is_merged] - count
    return found
