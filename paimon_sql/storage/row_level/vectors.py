"""Row-level strategy "deletion vectors": deleted rows as positions in data files, and their index files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.metadata.index_manifest import DELETION_VECTORS_INDEX, IndexManifestEntry
from paimon_sql.format.metadata.manifest import ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.system_fields import ROW_ID, VALUE_KIND, RowKind
from paimon_sql.storage.data_files.live_files import Deletion, deletions_of, grouped, live_files
from paimon_sql.storage.read.metadata_columns import FILE_PATH, ROW_INDEX
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.index_files import has_buckets, index_entries, index_path, write_deletions
from paimon_sql.storage.table.table import Table

Vectors = Mapping[str, DeletionVector | None]
"""New deletion vectors by name of the data file; None if the file itself is deleted."""


def mark(
    table: Table, base: Snapshot | None, marks: Sequence[tuple[ManifestEntry, DeletionVector]]
) -> list[CommitMessage]:
    """Mark rows as deleted; a file without live rows is deleted itself, unless other files hold columns of its rows.

    Args:
        table: the table.
        base: the snapshot of the files.
        marks: the files, each with the rows to delete in addition to those that are deleted already.

    Returns:
        One message per bucket, to be committed on a snapshot with the same vectors.
    """
    deletions = index_entries(table, base)
    ordered = sorted(marks, key=lambda g: (g[0].partition, g[0].bucket))
    messages = []
    buckets = grouped(((e.partition, e.bucket, e.total_buckets), (e, vector)) for e, vector in ordered)
    for (partition, bucket, total), group in buckets.items():
        stored = [e for e in deletions if (e.partition, e.bucket) == (partition, bucket)]
        old = read_vectors(table, stored)
        changed: dict[str, DeletionVector | None] = {}
        emptied: list[DataFileMeta] = []
        for e, vector in group:
            name = e.file.file_name
            merged = old[name] | vector if name in old else vector
            stays = table.layout.groups_files or merged.cardinality < e.file.row_count
            changed[name] = merged if stays else None
            if not stays:
                emptied.append(e.file)
        message = replaced_vectors(table, stored, CommitMessage(partition, bucket, total), changed)
        messages.append(replace(message, deleted_files=tuple(emptied)))
    return messages


def with_existing_deletions(
    table: Table, base: Snapshot | None, marks: Sequence[tuple[ManifestEntry, DeletionVector]]
) -> list[tuple[ManifestEntry, DeletionVector]]:
    """The files with all their deleted rows: the marked ones, and those of the snapshot's deletion vectors."""
    deletions = deletions_of(table, base)
    earlier = (deletions.get((e.partition, e.bucket, e.file.file_name)) for e, _ in marks)
    return [
        (e, vector if deletion is None else vector | deletion.read(table.file_io))
        for (e, vector), deletion in zip(marks, earlier, strict=True)
    ]


def drop_vectors(table: Table, base: Snapshot | None, files: Sequence[ManifestEntry]) -> list[CommitMessage]:
    """Drop the vectors of deleted data files from the index files, with one message per affected bucket."""
    deletions = deletions_of(table, base)
    by_bucket: dict[tuple[bytes, int, int], dict[str, DeletionVector | None]] = {}
    for e in files:
        if (e.partition, e.bucket, e.file.file_name) in deletions:
            by_bucket.setdefault((e.partition, e.bucket, e.total_buckets), {})[e.file.file_name] = None
    return change_vectors(table, base, by_bucket)


def change_vectors(
    table: Table, base: Snapshot | None, by_bucket: Mapping[tuple[bytes, int, int], Vectors]
) -> list[CommitMessage]:
    """Write index files with changed vectors; return one message per bucket.

    Args:
        table: the table.
        base: the snapshot whose index files they replace.
        by_bucket: the vectors that change, by partition, bucket and number of buckets.
    """
    index_files = index_entries(table, base) if by_bucket else []
    return [
        replaced_vectors(
            table,
            [e for e in index_files if (e.partition, e.bucket) == (partition, bucket)],
            CommitMessage(partition, bucket, total),
            changed,
        )
        for (partition, bucket, total), changed in by_bucket.items()
    ]


def read_vectors(table: Table, stored: Sequence[IndexManifestEntry]) -> dict[str, DeletionVector]:
    """The vectors of index files, by name of their data file."""
    return {
        part.data_file_name: Deletion(index_path(table, e), part).read(table.file_io)
        for e in stored
        if e.file.index_type == DELETION_VECTORS_INDEX
        for part in e.file.deletion_vectors or ()
    }


def replaced_vectors(
    table: Table, stored: Sequence[IndexManifestEntry], message: CommitMessage, changed: Vectors
) -> CommitMessage:
    """Write index files with the changed vectors and the others of the replaced files, and add them to the message.

    Args:
        table: the table.
        stored: the index files of the bucket.
        message: the other changes of the bucket.
        changed: the vectors that change.
    """
    files = [e for e in stored if e.file.index_type == DELETION_VECTORS_INDEX]
    if not has_buckets(table):
        files = [e for e in files if any(v.data_file_name in changed for v in e.file.deletion_vectors or ())]
    vectors: dict[str, DeletionVector | None] = {**read_vectors(table, files), **changed}
    remaining = {name: vector for name, vector in vectors.items() if vector is not None}
    if not remaining and not files:
        return message
    new = write_deletions(table, message.partition, message.bucket, remaining) if remaining else ()
    return replace(message, new_indexes=new, deleted_indexes=tuple(e.file for e in files))


Marks = Mapping[str, DeletionVector]
"""The rows to delete, by path of their data file."""

_OLD = (RowKind.DELETE, RowKind.UPDATE_AFTER)
_NEW = (RowKind.INSERT, RowKind.UPDATE_AFTER)


class ChangeSplitter:
    """Splits changed rows into positions of rows to delete, and rows to write.

    A batch has the columns of the table, then each row's file and position, its id if it has one, and its kind; an
    update is both, a row to delete and a row to write.

    Args:
        columns: the names of the table's columns.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = [*columns, VALUE_KIND.name, ROW_ID.name]
        self._positions: dict[str, list[np.ndarray]] = {}

    def new_rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the rows to write, with their kinds and ids; collect the positions of those to delete."""
        for batch in batches:
            kinds = batch.column(VALUE_KIND.name)
            self.mark(batch.filter(pc.is_in(kinds, value_set=pa.array(_OLD, pa.int8()))))
            fresh = batch.filter(pc.is_in(kinds, value_set=pa.array(_NEW, pa.int8())))
            if fresh.num_rows:
                yield fresh.select([name for name in self._columns if name in fresh.schema.names])

    @property
    def marks(self) -> dict[str, DeletionVector]:
        """The rows to delete, of all batches so far."""
        return {path: DeletionVector(np.concatenate(positions)) for path, positions in self._positions.items()}

    def mark(self, deleted: pa.RecordBatch) -> None:
        """Collect the positions of rows to delete."""
        if not deleted.num_rows:
            return
        paths = pc.dictionary_encode(deleted.column(FILE_PATH.name))
        codes = paths.indices.to_numpy()
        positions = deleted.column(ROW_INDEX.name).to_numpy()
        for code, path in enumerate(paths.dictionary.to_pylist()):
            self._positions.setdefault(path, []).append(positions[codes == code])


def joined(parts: Iterable[Marks]) -> dict[str, DeletionVector]:
    """The union of the marks of several workers."""
    found: dict[str, DeletionVector] = {}
    for part in parts:
        for path, vector in part.items():
            found[path] = found[path] | vector if path in found else vector
    return found


def marked_files(table: Table, base: Snapshot | None, marks: Marks) -> list[tuple[ManifestEntry, DeletionVector]]:
    """The data files of a snapshot with marked rows, each with its marks."""
    names = pa.array([path.rsplit("/", 1)[-1] for path in marks], pa.string())
    live = live_files(table, base).entries
    named = entries(live.filter(pc.is_in(live["file_name"], value_set=names)))
    found = ((e, marks.get(table.locations.data_file(e.partition, e.bucket, e.file))) for e in named)
    return [(e, vector) for e, vector in found if vector is not None]
