"""Routers of the bucket modes: they assign rows to buckets of their partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import BUCKET
from paimon_sql.storage.table.partitions import Router
from paimon_sql.storage.table.table import Table


class FixedRouter(Router):
    """Router for tables whose option ``bucket`` sets the number of buckets of every partition.

    Args:
        table: the table.
        buckets: the number of buckets.
        known: the current numbers of buckets, by serialised partition row.
    """

    def __init__(self, table: Table, buckets: int, known: Mapping[bytes, int]) -> None:
        super().__init__(table.schema, buckets)
        self._table = table
        self._known = known

    def _place(
        self, batch: pa.RecordBatch, partitions: Sequence[bytes], codes: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int32]:
        for partition in partitions:
            if self._known.get(partition, self.buckets) != self.buckets:
                path = self._table.locations.partition(partition)
                where = f"partition {path}" if path else "the table"
                raise InvalidInputError(
                    f"{self._table.name}: {where} has {self._known[partition]} buckets, but the option 'bucket' is"
                    f" {self.buckets}.",
                    remedy="INSERT OVERWRITE it, or CALL sys.rescale, to move its rows to the new buckets; or set"
                    " 'bucket' back.",
                )
        return super()._place(batch, partitions, codes)


class AssignedRouter(Router):
    """Router for rows whose bucket an assigner has put in the column ``_BUCKET``; the number of buckets is open."""

    extra = (BUCKET.name,)

    def __init__(self, schema: TableSchema) -> None:
        super().__init__(schema, -1)

    def _place(
        self, batch: pa.RecordBatch, partitions: Sequence[bytes], codes: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int32]:
        buckets: npt.NDArray[np.int32] = batch.column(BUCKET.name).to_numpy()
        return buckets


class PartitionRouter(Router):
    """Router for tables whose partitions have different numbers of buckets.

    Args:
        schema: the table's schema.
        known: the numbers of buckets, by serialised partition row.
        default: the number of buckets of other partitions.
    """

    def __init__(self, schema: TableSchema, known: Mapping[bytes, int], default: int = 1) -> None:
        super().__init__(schema, default)
        self._known = known

    def total_buckets(self, partition: bytes) -> int:
        return self._known.get(partition, self.buckets)

    def _place(
        self, batch: pa.RecordBatch, partitions: Sequence[bytes], codes: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int32]:
        totals = np.array([self.total_buckets(p) for p in partitions], dtype=np.int32)[codes]
        buckets = np.zeros(batch.num_rows, dtype=np.int32)
        columns = [batch.column(k) for k in self.schema.bucket_keys]
        for total in np.unique(totals):
            if total > 1:
                rows = np.flatnonzero(totals == total)
                picked = [pc.take(c, pa.array(rows)) for c in columns]
                buckets[rows] = self._function.assign(picked, self._bucket_types, int(total))
        return buckets
