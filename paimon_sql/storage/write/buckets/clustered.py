"""Clustered writes of append tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.storage.write.clustering.clustering import Clustering
from paimon_sql.storage.write.clustering.external_sort import sorted_rows
from paimon_sql.storage.write.settings import WriteSettings
from paimon_sql.storage.write.task import WriteTask


@dataclass(frozen=True, kw_only=True)
class ClusteredWriteTask(WriteTask):
    """Sorts the rows of each writer before they are written, in memory of the size of a write buffer."""

    layout: Clustering

    def with_buckets(self, rows: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        return sorted_rows(rows, self.layout.keys, WriteSettings(self.table.schema).buffer_size)
