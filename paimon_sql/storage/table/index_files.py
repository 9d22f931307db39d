"""Index files of a table: hash indexes, deletion vectors and others (spec: Table Index)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import partial

from paimon_sql.format.layout.paths import index_name
from paimon_sql.format.metadata.index_files import DeletionVector, files_of_deletion_vectors
from paimon_sql.format.metadata.index_manifest import (
    DELETION_VECTORS_INDEX,
    DeletionVectorRange,
    IndexFileMeta,
    IndexManifestEntry,
)
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.table import index
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.storage.table.table import Table


def index_entries(table: Table, snapshot: Snapshot | None) -> list[IndexManifestEntry]:
    """Return the index manifest entries of a snapshot."""
    if snapshot is None or snapshot.index_manifest is None:
        return []
    return table.manifests.read_indexes(snapshot.index_manifest)


def index_path(table: Table, entry: IndexManifestEntry) -> str:
    """Return the path of an index file."""
    return _path(table, entry.partition, entry.bucket, entry.file)


def write_index_file(
    table: Table,
    partition: bytes,
    bucket: int,
    index_type: str,
    data: bytes,
    *,
    row_count: int,
    deletion_vectors: tuple[DeletionVectorRange, ...] | None = None,
) -> IndexFileMeta:
    """Write a new index file, which is invisible until a message that refers to it is committed.

    Args:
        table: the table.
        partition: the serialized partition row.
        bucket: the bucket of the index.
        index_type: the index type.
        data: content of the file.
        row_count: number of its entries.
        deletion_vectors: the ranges of the deletion vectors in it, if any.
    """
    name = index_name(str(uuid.uuid4()), 0)
    file = IndexFileMeta(index_type, name, len(data), row_count, deletion_vectors=deletion_vectors)
    table.file_io.write_bytes(_path(table, partition, bucket, file), data)
    return file


def write_deletions(
    table: Table, partition: bytes, bucket: int, vectors: Mapping[str, DeletionVector]
) -> tuple[IndexFileMeta, ...]:
    """Write the deletion vectors of data files of one bucket, by file name; on an error no file is left."""
    options = table.options
    target = None if has_buckets(table) else options.get(index.DELETION_VECTOR_INDEX_FILE_TARGET_SIZE)
    files: list[IndexFileMeta] = []
    try:
        bitmap64 = options.get(index.DELETION_VECTORS_BITMAP64)
        write = partial(write_index_file, table, partition, bucket, DELETION_VECTORS_INDEX)
        for data, ranges in files_of_deletion_vectors(vectors, bitmap64=bitmap64, target=target):
            files.append(write(data, row_count=len(ranges), deletion_vectors=ranges))
    except BaseException:
        table.file_io.delete_many([_path(table, partition, bucket, file) for file in files])
        raise
    return tuple(files)


def has_buckets(table: Table) -> bool:
    """Whether rows belong to buckets, so that each of these has one index file of a type."""
    return table.schema.has_key or table.options.get(BUCKET) > 0


def _path(table: Table, partition: bytes, bucket: int, file: IndexFileMeta) -> str:
    beside_data = file.global_index is None and table.options.get(index.INDEX_FILE_IN_DATA_FILE_DIR)
    directory = table.locations.bucket(partition, bucket) if beside_data else None
    return table.paths.index(file.file_name, file.external_path, directory)
