"""The live files of a snapshot, those left out that cannot hold a wanted row.

Manifests are left out by their partition bounds, files by partition, bucket, key range and column statistics, always
over whole columns. A table with a primary key is pruned by statistics of its key alone: an old version of a row may
satisfy a condition on other columns that its newest version does not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.metadata.manifest import MANIFEST_SCHEMA, FileKind, ManifestFileMeta, merge_entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.storage.data_files.file_groups import has_data_evolution
from paimon_sql.storage.data_files.pruning.groups import prune_groups
from paimon_sql.storage.data_files.pruning.pinned_columns import prune_buckets
from paimon_sql.storage.data_files.pruning.statistics import prune_by_key, prune_by_values
from paimon_sql.storage.expressions.predicates import ColumnStats, Predicate, about, all_of, conjuncts
from paimon_sql.storage.table.distributed_manifests import read_manifests
from paimon_sql.storage.table.table import Table


@dataclass
class ScanMetrics:
    """What planning looked at: manifests and files in all and after pruning, bytes to be read."""

    manifests: int = 0
    manifests_read: int = 0
    files: int = 0
    files_read: int = 0
    bytes_read: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class LiveFiles:
    """The files that a read must look at, in a table of ``MANIFEST_SCHEMA``."""

    snapshot: Snapshot | None
    entries: pa.Table
    metrics: ScanMetrics = field(default_factory=ScanMetrics)

    @property
    def partitions(self) -> list[bytes]:
        """The serialised partitions that they are of, each once."""
        found: list[bytes] = pc.unique(self.entries["partition"]).to_pylist()
        return found


def live_files(
    table: Table,
    snapshot: Snapshot | None,
    predicate: Predicate | None = None,
    partitions: Collection[bytes] | None = None,
) -> LiveFiles:
    """The live files of a snapshot that may hold rows for which the predicate is true.

    Args:
        table: the table.
        snapshot: what to read; None is a table that nothing was written to.
        predicate: the condition; columns that are not of the table must not occur in it.
        partitions: the serialised partitions that are looked at; all by default.
    """
    metrics = ScanMetrics()
    if snapshot is None:
        return LiveFiles(None, MANIFEST_SCHEMA.empty_table(), metrics)
    manifests = manifests_of(table, snapshot)
    wanted = _Wanted(table, predicate, None if partitions is None else pa.array(sorted(partitions), pa.binary()))
    chosen = _prune_manifests(table, manifests, wanted.by_partition)
    metrics.manifests, metrics.manifests_read = len(manifests), len(chosen)
    read = read_manifests(table, chosen, wanted if wanted.narrows else None)
    complete = len(chosen) == len(manifests) and (read.whole or not wanted.tells_by_file)
    entries = (
        merge_entries(read.tables, unmatched="refuse" if complete else "drop")
        if read.tables
        else MANIFEST_SCHEMA.empty_table()
    )
    metrics.files = sum(m.num_added_files - m.num_deleted_files for m in manifests)
    entries = wanted.of_rows(wanted.of_partitions(entries))
    metrics.files_read = len(entries)
    metrics.bytes_read = pc.sum(entries["file_size"]).as_py() or 0
    return LiveFiles(snapshot, entries, metrics)


@dataclass(frozen=True)
class _Wanted:
    """Which entries a plan wants.

    Attributes:
        table: the table.
        predicate: what the wanted rows satisfy.
        partitions: the serialised partitions that they are of; None is any.
    """

    table: Table
    predicate: Predicate | None
    partitions: pa.Array | None

    def __call__(self, entries: pa.Table) -> pa.Table:
        """Those of a part of the manifests, of which nobody knows yet whether the files are still there.

        A DELETE need not have the statistics of its ADD, and so goes with its partition alone.
        """
        entries = self.of_partitions(entries)
        if not self.tells_by_file or not len(entries):
            return entries
        numbered = entries.append_column("number", pa.array(np.arange(len(entries))))
        is_add = pc.equal(entries["kind"], FileKind.ADD)
        added = self.of_rows(numbered.filter(is_add))
        left = np.concatenate([added["number"], numbered.filter(pc.invert(is_add))["number"]])
        return entries.take(pa.array(np.sort(left)))

    @cached_property
    def by_partition(self) -> Predicate | None:
        """What is asked of partition columns alone."""
        return partition_predicate(self.table, self.predicate)

    @cached_property
    def tells_by_file(self) -> bool:
        """Whether a file by itself tells that it holds no wanted row, beyond its partition.

        Files of a table with a key tell so by their keys alone, files that hold columns of the same rows only together.
        """
        keys = [f.name for f in self.table.schema.key_fields] if self.table.schema.primary_keys else None
        asked = self.predicate if keys is None else about(self.predicate, keys)
        return asked is not None and not has_data_evolution(self.table)

    @property
    def narrows(self) -> bool:
        """Whether a part of the manifests by itself tells that some of its entries are not wanted."""
        return self.by_partition is not None or self.partitions is not None or self.tells_by_file

    def of_partitions(self, entries: pa.Table) -> pa.Table:
        """The entries of wanted partitions, decided exactly."""
        if self.partitions is not None:
            entries = entries.filter(pc.is_in(entries["partition"], value_set=self.partitions))
        return filter_partitions(self.table, entries, self.by_partition)

    def of_rows(self, entries: pa.Table) -> pa.Table:
        """The entries of files that may hold a wanted row by their buckets, keys and statistics."""
        if self.predicate is None or not len(entries):
            return entries
        prune = (
            prune_by_key
            if self.table.schema.primary_keys
            else prune_groups
            if has_data_evolution(self.table)
            else prune_by_values
        )
        return prune(self.table, prune_buckets(self.table.schema, entries, self.predicate), self.predicate)


def manifests_of(table: Table, snapshot: Snapshot) -> list[ManifestFileMeta]:
    """The manifests that make up a snapshot, in the order of their commits."""
    store = table.manifests
    return [*store.read_list(snapshot.base_manifest_list), *store.read_list(snapshot.delta_manifest_list)]


def partition_predicate(table: Table, predicate: Predicate | None) -> Predicate | None:
    """The part of a condition that looks at partition columns alone."""
    keys = set(table.schema.partition_keys)
    return all_of([p for p in conjuncts(predicate) if p.columns() <= keys]) if keys else None


def filter_partitions(table: Table, entries: pa.Table, predicate: Predicate | None) -> pa.Table:
    """The entries whose partition satisfies a condition on partition columns, decided exactly."""
    if predicate is None or not len(entries):
        return entries
    encoded = entries["partition"].combine_chunks().dictionary_encode()
    values = partition_values(table, encoded.dictionary)
    wanted = pc.fill_null(predicate.evaluate(values), False)
    return entries.filter(wanted.take(encoded.indices))


def partition_values(table: Table, partitions: pa.Array) -> dict[str, pa.Array]:
    """Serialised partition rows as one array a partition column."""
    fields = table.schema.partition_fields
    arrays = decode_columns([f.type for f in fields], partitions)
    return {f.name: a for f, a in zip(fields, arrays, strict=True)}


def _prune_manifests(
    table: Table, manifests: Sequence[ManifestFileMeta], predicate: Predicate | None
) -> list[ManifestFileMeta]:
    if predicate is None or not manifests:
        return list(manifests)
    fields = table.schema.partition_fields
    types = [f.type for f in fields]
    minima = decode_columns(types, [m.partition_stats.min_values for m in manifests])
    maxima = decode_columns(types, [m.partition_stats.max_values for m in manifests])
    rows = pa.array([m.num_added_files + m.num_deleted_files for m in manifests], pa.int64())
    stats = {}
    for i, f in enumerate(fields):
        counts = [m.partition_stats.null_counts[i] if m.partition_stats.null_counts else None for m in manifests]
        stats[f.name] = ColumnStats(minima[i], maxima[i], pa.array(counts, pa.int64()), rows)
    mask = predicate.may_hold(stats)
    return [m for m, keep in zip(manifests, mask.to_pylist(), strict=True) if keep]
