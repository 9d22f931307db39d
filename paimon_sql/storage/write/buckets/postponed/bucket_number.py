"""How many real buckets the partitions of a table with postponed buckets have or get."""

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
    """Rows, and the bytes of their files."""

    rows: int = 0
    size: int = 0

    def buckets(self, options: TableOptions) -> int:
        """How many buckets so much needs, at the least one."""
        rows: int | None = options.get(POSTPONE_TARGET_ROW_NUM_PER_BUCKET)
        target = rows or options.get(POSTPONE_TARGET_SIZE_PER_BUCKET)
        needed: int = -(-(self.rows if rows else self.size) // target)
        return max(1, needed)


def amounts(entries: Iterable[ManifestEntry]) -> dict[bytes, Amount]:
    """What files hold, by partition."""
    found: dict[bytes, Amount] = {}
    for e in entries:
        known = found.get(e.partition, Amount())
        found[e.partition] = Amount(known.rows + e.file.row_count, known.size + e.file.file_size)
    return found


def numbers_for_compaction(
    options: TableOptions, waiting: Mapping[bytes, Amount], known: Mapping[bytes, int]
) -> dict[bytes, int]:
    """How many buckets the partitions with waiting rows have after a compaction.

    A partition keeps the number that it has; a new one gets ``postpone.default-bucket-num`` or what its rows need.
    """
    default = options.get(POSTPONE_DEFAULT_BUCKET_NUM)
    return {p: known.get(p) or default or amount.buckets(options) for p, amount in waiting.items()}


def numbers_for_batch(
    options: TableOptions, batch: Mapping[bytes, Amount], known: Mapping[bytes, int]
) -> dict[bytes, int]:
    """How many buckets each partition of a batch should have.

    A partition that has buckets keeps their number unless the batch needs very many more, as
    ``postpone.batch-write-fixed-bucket.rescale-load-factor`` says; the number of a new one is a power of two.
    """
    default = options.get(POSTPONE_DEFAULT_BUCKET_NUM)
    most: int = options.get(POSTPONE_BATCH_WRITE_FIXED_BUCKET_MAX_PARALLELISM)
    factor: int = options.get(POSTPONE_BATCH_WRITE_FIXED_BUCKET_RESCALE_LOAD_FACTOR)
    found = {}
    for partition, amount in batch.items():
        needed = amount.buckets(options)
        wanted = min(1 << (min(needed, most) - 1).bit_length(), most)
        there = known.get(partition)
        if there is None:
            found[partition] = default or wanted
        else:
            found[partition] = wanted if needed > there * factor and wanted > there else there
    return found
