"""The hash indexes of a snapshot: which keys the dynamic buckets hold (spec: Table Index)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from paimon_sql.errors import CommitConflictError, CorruptFileError
from paimon_sql.format.index_files.hash_index import read_hash_index
from paimon_sql.format.metadata.index_manifest import HASH_INDEX, IndexFileMeta
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.table.index_files import index_entries, index_path
from paimon_sql.storage.table.table import Table

Target = tuple[bytes, int]


@dataclass(frozen=True)
class HashIndexFile:
    """The hash index of a bucket.

    Attributes:
        path: where it stands.
        file: what the index manifest says of it.
        counts: whether the bucket holds what the index says.
    """

    path: str
    file: IndexFileMeta
    counts: bool = True

    @property
    def rows(self) -> int:
        """How many keys the bucket holds."""
        return self.file.row_count if self.counts else 0

    def emptied(self) -> HashIndexFile:
        """The index of a bucket that holds nothing any more."""
        return replace(self, counts=False)

    def read(self, table: Table) -> npt.NDArray[np.int32]:
        """The hashes of the bucket's keys.

        Raises:
            MissingFileError: the file is not there.
            CorruptFileError: it does not hold as many hashes as the index manifest says.
        """
        if not self.counts:
            return np.zeros(0, np.int32)
        hashes = read_hash_index(table.file_io.read_bytes(self.path), self.path)
        if len(hashes) != self.file.row_count:
            raise CorruptFileError(
                f"the hash index holds {len(hashes)} keys, and {self.file.row_count} by the index manifest",
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
    table: Table, latest: Snapshot | None, seen: dict[Target, HashIndexFile], partitions: Collection[bytes]
) -> None:
    """Nothing if the hash indexes of some partitions are as a writer saw them.

    A writer chooses buckets for new keys by what it saw. Had another one brought the same keys meanwhile, they could
    stand in two buckets.

    Args:
        table: the table.
        latest: the snapshot that is built upon.
        seen: the hash indexes that the writer saw.
        partitions: the partitions that it wrote to.

    Raises:
        CommitConflictError: they changed.
    """
    wanted = frozenset(partitions)
    now = {t: i.file.file_name for t, i in hash_indexes(table, latest).items() if t[0] in wanted}
    then = {t: i.file.file_name for t, i in seen.items() if t[0] in wanted}
    if now != then:
        partition = next(iter(dict(now.items() ^ then.items())))[0]
        path = table.locations.partition(partition)
        raise CommitConflictError(
            f"{table.name}: another job brought new keys into the dynamic buckets of"
            f" {f'partition {path}' if path else 'the table'} meanwhile, so a key could stand in two buckets.",
            remedy="Run the statement again; let one job at a time write to a partition with dynamic buckets.",
        )
