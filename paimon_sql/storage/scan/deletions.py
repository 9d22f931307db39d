"""Deletion vectors of a snapshot: which data files have one, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paimon_sql.format.deletion_vectors import DeletionVector, read_deletion_vector
from paimon_sql.format.index_manifest import (
    DELETION_VECTORS_INDEX,
    DeletionVectorRange,
    IndexManifestEntry,
    read_index_manifest,
)
from paimon_sql.format.snapshot import Snapshot
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.table import Table

_TAIL = 8


@dataclass(frozen=True)
class Deletion:
    """Where the deletion vector of one data file stands."""

    path: str
    range: DeletionVectorRange

    def read(self, file_io: FileIO) -> DeletionVector:
        """The deletion vector itself."""
        with file_io.open_input(self.path) as source:
            source.seek(self.range.offset)
            return read_deletion_vector(source.read(self.range.length + _TAIL), self.path, self.range)


def index_entries(table: Table, snapshot: Snapshot | None) -> list[IndexManifestEntry]:
    """The index files of a snapshot."""
    if snapshot is None or snapshot.index_manifest is None:
        return []
    path = table.paths.manifest(snapshot.index_manifest)
    return read_index_manifest(table.file_io.read_bytes(path), path)


def deletions_of(table: Table, snapshot: Snapshot | None) -> Mapping[tuple[bytes, int, str], Deletion]:
    """The deletion vectors of a snapshot by partition, bucket and name of the data file."""
    found = {}
    for entry in index_entries(table, snapshot):
        if entry.file.index_type == DELETION_VECTORS_INDEX:
            path = index_path(table, entry)
            for part in entry.file.deletion_vectors or ():
                found[(entry.partition, entry.bucket, part.data_file_name)] = Deletion(path, part)
    return found


def index_path(table: Table, entry: IndexManifestEntry) -> str:
    """Where an index file stands."""
    beside_data = table.schema.options.get("index-file-in-data-file-dir", "false").lower() == "true"
    bucket = table.locations.bucket(entry.partition, entry.bucket) if beside_data else None
    return table.paths.index(entry.file.file_name, entry.file.external_path, bucket)
