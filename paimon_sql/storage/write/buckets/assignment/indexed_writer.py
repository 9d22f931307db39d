"""Writing dynamic buckets: rows into the buckets that an assigner chose, and their keys into the hash indexes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from paimon_sql.format.index_files.hash_index import write_hash_index
from paimon_sql.format.metadata.index_manifest import HASH_INDEX, IndexManifestEntry
from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.index_files import index_path, write_index_file
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.assignment.hash_assigner import Hashes, key_hashes
from paimon_sql.storage.write.buckets.assignment.routers import AssignedRouter
from paimon_sql.storage.write.buckets.hash_indexes import HashIndexFile
from paimon_sql.storage.write.buffer import Target
from paimon_sql.storage.write.key_value_writer import KeyValueWriter

_LOOSE = 1 << 20
"""So many hashes are collected before doubles among them are dropped."""


class IndexedWriter(KeyValueWriter):
    """Writes rows that say their buckets in ``_BUCKET``, and the hash index of each bucket that got a new key.

    Args:
        table: the table.
        sequences: by partition and bucket the greatest sequence number there.
        index: the hash index of each bucket as the write found it.
    """

    def __init__(self, table: Table, sequences: Mapping[Target, int], index: Mapping[Target, HashIndexFile]) -> None:
        super().__init__(table, sequences, AssignedRouter(table.schema))
        self._index = index
        self._hashes: dict[Target, list[Hashes]] = {}
        self._loose: dict[Target, int] = {}

    def close(self) -> list[CommitMessage]:
        """Write what is left; messages of hash indexes follow those of data files."""
        messages = super().close()
        for target, parts in self._hashes.items():
            self._write_index(target, np.unique(np.concatenate(parts)))
        return messages

    def abort(self) -> None:
        """Remove whatever was written."""
        super().abort()
        self._table.file_io.delete_many(
            index_path(self._table, IndexManifestEntry(FileKind.ADD, m.partition, m.bucket, f))
            for m in self._messages
            for f in m.new_indexes
        )

    def _take(self, target: Target, rows: pa.RecordBatch) -> None:
        super()._take(target, rows)
        parts = self._hashes.setdefault(target, [])
        parts.append(key_hashes(self._table.schema, rows))
        self._loose[target] = self._loose.get(target, 0) + rows.num_rows
        if self._loose[target] > _LOOSE:
            self._hashes[target] = [np.unique(np.concatenate(parts))]
            self._loose[target] = 0

    def _write_index(self, target: Target, hashes: Hashes) -> None:
        old = self._index.get(target)
        held = np.zeros(0, np.int32) if old is None else old.read(self._table)
        fresh = np.setdiff1d(hashes, held)
        if not len(fresh):
            return
        joined = np.concatenate([held, fresh])
        file = write_index_file(self._table, *target, HASH_INDEX, write_hash_index(joined), row_count=len(joined))
        replaced = () if old is None else (old.file,)
        self._messages.append(CommitMessage(*target, -1, new_indexes=(file,), deleted_indexes=replaced))
