"""The number of real buckets of partitions in tables with postponed buckets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from paimon_sql.format.metadata.manifest import ManifestEntry
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.bucket import (
    POSTPONE_BATCH_WRITE_FIXED_BUCKET_MAX_PARALLELISM,
    POSTPONE_BATCH_WRITE_FIXED_BUCKET_RESCALE_LOAD_FACTOR,
    POSTPONE_DEFAULT_BUCKET_NUM,
    POSTPONE_TARGET_ROW_NUM_PER_BUCKET,
    POSTPONE_TARGET_SIZE_PER_BUCKET,
)


@dataclass(frozen=True)
class Amount:
    """A number of rows, and the bytes of their files."""

    rows: int = 0
    size: int = 0

    def buckets(self, options: TableOptions) -> int:
        """The number of buckets that these rows need, at least one."""
        rows: int | None = options.get(POSTPONE_TARGET_ROW_NUM_PER_BUCKET)
        target = rows or options.get(POSTPONE_TARGET_SIZE_PER_BUCKET)
        needed: int = -(-(self.rows if rows else self.size) // target)
        return max(1, needed)


def amounts(entries: Iterable[ManifestEntry]) -> dict[bytes, Amount]:
    """The amounts of files by partition."""
    found: dict[bytes, Amount] = {}
    for e in entries:
        known = found.get(e.partition, Amount())
        found[e.partition] = Amount(known.rows + e.file.row_count, known.size + e.file.file_size)
    return found


def numbers_for_compaction(
    options: TableOptions, waiting: Mapping[bytes, Amount], known: Mapping[bytes, int]
) -> dict[bytes, int]:
    """The numbers of buckets after a compaction, by partition with postponed rows.

    A partition keeps its number; a new one gets ``postpone.default-bucket-num``, or what its rows need.
    """
    default = options.get(POSTPONE_DEFAULT_BUCKET_NUM)
    return {p: known.get(p) or default or amount.buckets(options) for p, amount in waiting.items()}


def numbers_for_batch(
    options: TableOptions, batch: Mapping[bytes, Amount], known: Mapping[bytes, int]
) -> dict[bytes, int]:
    """The numbers of buckets for a batch, by partition.

    A partition keeps its number unless the batch needs more by a factor of
    ``postpone.batch-write-fixed-bucket.rescale-load-factor``; a new one gets a power of two.
    """
    default = options.get(POSTPONE_DEFAULT_BUCKET_NUM)
    limit: int = options.get(POSTPONE_BATCH_WRITE_FIXED_BUCKET_MAX_PARALLELISM)
    factor: int = options.get(POSTPONE_BATCH_WRITE_FIXED_BUCKET_RESCALE_LOAD_FACTOR)
    found = {}
    for partition, amount in batch.items():
        needed = amount.buckets(options)
        wanted = min(1 << (min(needed, limit) - 1).bit_length(), limit)
        current = known.get(partition)
        if current is None:
            found[partition] = default or wanted
        else:
            found[partition] = wanted if needed > current * factor and wanted > current else current
    return found
