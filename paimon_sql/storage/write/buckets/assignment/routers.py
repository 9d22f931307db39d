"""Routers of the bucket modes: they say which bucket of its partition each row goes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import BUCKET
from paimon_sql.storage.table.partitioning.routing import Router
from paimon_sql.storage.table.table import Table


class FixedRouter(Router):
    """Every partition has the number of buckets that the option ``bucket`` says.

    Args:
        table: the table.
        buckets: the number of buckets.
        known: the numbers of buckets that partitions have already, by serialised partition row.
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
                raise self._refusal(partition)
        return super()._place(batch, partitions, codes)

    def _refusal(self, partition: bytes) -> InvalidInputError:
        path = self._table.locations.partition(partition)
        where = f"partition {path}" if path else "the table"
        return InvalidInputError(
            f"{self._table.name}: {where} has {self._known[partition]} buckets, but the option 'bucket' is"
            f" {self.buckets}.",
            remedy="INSERT OVERWRITE it, or CALL sys.rescale, to bring its rows into the new buckets; or set 'bucket'"
            " back.",
        )


class AssignedRouter(Router):
    """An assigner has said each row's bucket in the column ``_BUCKET``; how many there are is open."""

    extra = (BUCKET.name,)

    def __init__(self, schema: TableSchema) -> None:
        super().__init__(schema, -1)

    def _place(
        self, batch: pa.RecordBatch, partitions: Sequence[bytes], codes: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int32]:
        buckets: npt.NDArray[np.int32] = batch.column(BUCKET.name).to_numpy()
        return buckets


class PartitionRouter(Router):
    """Each partition has its own number of buckets.

    Args:
        schema: the table's schema.
        known: the numbers by serialised partition row.
        default: the number of buckets of any other partition.
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
