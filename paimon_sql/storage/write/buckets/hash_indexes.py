"""Hash indexes: the hashes of the keys in dynamic buckets (spec: Table Index)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from paimon_sql.errors import CommitConflictError, CorruptFileError
from paimon_sql.format.metadata.index_files import read_hash_index
from paimon_sql.format.metadata.index_manifest import HASH_INDEX, IndexFileMeta
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.staging.proposal import Proposal
from paimon_sql.storage.table.index_files import index_entries, index_path
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.writers import Target


@dataclass(frozen=True)
class HashIndexFile:
    """The hash index of a bucket.

    Attributes:
        path: its path.
        file: its metadata in the index manifest.
        counts: whether the index applies; False if the bucket is empty.
    """

    path: str
    file: IndexFileMeta
    counts: bool = True

    @property
    def rows(self) -> int:
        """The number of keys in the bucket."""
        return self.file.row_count if self.counts else 0

    def emptied(self) -> HashIndexFile:
        """The index of a bucket that was emptied."""
        return replace(self, counts=False)

    def read(self, table: Table) -> npt.NDArray[np.int32]:
        """The hashes of the bucket's keys.

        Raises:
            MissingFileError: the file does not exist.
            CorruptFileError: its number of hashes is not that of the index manifest.
        """
        if not self.counts:
            return np.zeros(0, np.int32)
        hashes = read_hash_index(table.file_io.read_bytes(self.path), self.path)
        if len(hashes) != self.file.row_count:
            raise CorruptFileError(
                f"the hash index holds {len(hashes)} keys, but {self.file.row_count} according to the index manifest",
                path=self.path,
            )
        return hashes


def hash_indexes(table: Table, snapshot: Snapshot | None) -> dict[Target, HashIndexFile]:
    """The hash indexes of a snapshot by partition and bucket."""
    return {
        (e.partition, e.bucket): HashIndexFile(index_path(table, e), e.file)
        for e in index_entries(table, snapshot)
        if e.file.index_type == HASH_INDEX
    }


def check_hash_indexes(
    table: Table, seen: Mapping[Target, HashIndexFile], partitions: Collection[bytes], proposal: Proposal
) -> None:
    """Check that the hash indexes of some partitions did not change since a writer read them.

    A writer assigns buckets to new keys by these indexes. If a concurrent writer added the same keys, a key could be in
    two buckets.

    Args:
        table: the table.
        seen: the hash indexes that the writer read.
        partitions: the partitions that it wrote to.
        proposal: the commit.

    Raises:
        CommitConflictError: they changed.
    """
    now = {t: i.file.file_name for t, i in hash_indexes(table, proposal.latest).items() if t[0] in partitions}
    then = {t: i.file.file_name for t, i in seen.items() if t[0] in partitions}
    if now != then:
        partition = next(iter(dict(now.items() ^ then.items())))[0]
        path = table.locations.partition(partition)
        raise CommitConflictError(
            f"{table.name}: another job concurrently added new keys to the dynamic buckets of"
            f" {f'partition {path}' if path else 'the table'}, so a key could be in two buckets.",
            remedy="Run the statement again; let one job at a time write to a partition with dynamic buckets.",
        )
