"""Marks: the rows that a statement deletes, as positions in data files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.index_files.deletion_vectors import DeletionVector
from paimon_sql.format.metadata.manifest import ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.row_kind import RowKind
from paimon_sql.format.schema.system_fields import ROW_ID, VALUE_KIND
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.read.metadata_columns import FILE_PATH, ROW_INDEX
from paimon_sql.storage.table.table import Table

Marks = Mapping[str, DeletionVector]
"""The rows to delete, by path of their data file."""

_OLD = pa.array([RowKind.DELETE, RowKind.UPDATE_AFTER], pa.int8())
_NEW = pa.array([RowKind.INSERT, RowKind.UPDATE_AFTER], pa.int8())


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
            self.mark(batch.filter(pc.is_in(kinds, value_set=_OLD)))
            fresh = batch.filter(pc.is_in(kinds, value_set=_NEW))
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
    found = []
    for e in entries(live.filter(pc.is_in(live["file_name"], value_set=names))):
        vector = marks.get(table.locations.data_file(e.partition, e.bucket, e.file))
        if vector is not None:
            found.append((e, vector))
    return found
