"""Spread scan: so many rows of the driver that Spark should not hold them all, such as metadata of very many files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from paimon_sql.spark.connector.interfaces import ScanInterface
from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import CONNECTOR
from paimon_sql.spark.scan.proxies.planned import input_partitions, reader_factory
from paimon_sql.storage.execution.arrow_streams import packed, unpacked

_SLICE_ROWS = 20_000


@dataclass(frozen=True)
class _SliceTask:
    """Some rows that the driver computed.

    Attributes:
        rows: the rows, packed.
    """

    rows: bytes

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows."""
        yield from unpacked(self.rows).to_batches()


@dataclass(eq=False)
class SpreadScanProxy(ScanInterface):
    """A scan of rows of the driver that workers pass to Spark: the JVM holds them only compressed.

    Attributes:
        compute: computes the rows, in the Arrow types of the columns, when the query runs.
    """

    implements = [f"{CONNECTOR}.read.Scan", f"{CONNECTOR}.read.Batch"]
    compute: Callable[[], pa.Table]

    @cached_property
    def _partitions(self) -> Sequence[JavaObject]:
        rows = self.compute()
        starts = range(0, max(1, len(rows)), _SLICE_ROWS)
        return input_partitions(self.jvm, [[_SliceTask(packed(rows.slice(start, _SLICE_ROWS)))] for start in starts])

    def planInputPartitions(self) -> Sequence[JavaObject]:
        return self._partitions

    def createReaderFactory(self) -> JavaObject:
        return reader_factory(self.jvm, spark_struct(self.columns))
