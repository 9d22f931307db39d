"""Deletion vectors of a snapshot, by data file (spec: Table Index)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paimon_sql.format.bytes.bounded import check_range, decoding
from paimon_sql.format.index_files.deletion_vectors import DeletionVector, read_deletion_vector
from paimon_sql.format.metadata.index_manifest import DELETION_VECTORS_INDEX, DeletionVectorRange
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.table.index_files import index_entries, index_path
from paimon_sql.storage.table.table import Table

_TAIL = 8


@dataclass(frozen=True)
class Deletion:
    """The location of a data file's deletion vector."""

    path: str
    range: DeletionVectorRange

    def read(self, file_io: FileIO) -> DeletionVector:
        """Read the deletion vector."""
        offset, length = self.range.offset, self.range.length
        with file_io.open_input(self.path) as source:
            size = int(source.size())
            with decoding("a file of deletion vectors", self.path):
                check_range(offset, length, size, f"the deletion vector of {self.range.data_file_name}")
            data = bytes(source.read_at(min(length + _TAIL, size - offset), offset))
        return read_deletion_vector(data, self.path, self.range)


def deletions_of(table: Table, snapshot: Snapshot | None) -> Mapping[tuple[bytes, int, str], Deletion]:
    """Return the deletion vectors of a snapshot by partition, bucket and name of the data file."""
    found = {}
    for entry in index_entries(table, snapshot):
        if entry.file.index_type == DELETION_VECTORS_INDEX:
            path = index_path(table, entry)
            for part in entry.file.deletion_vectors or ():
                found[(entry.partition, entry.bucket, part.data_file_name)] = Deletion(path, part)
    return found
