"""Local scan: rows of the driver, without a job: metadata, results of procedures, small look-ups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.spark.connector.interfaces import ScanInterface
from paimon_sql.spark.conversion.rows import internal_rows
from paimon_sql.spark.java.catalyst import InternalRow
from paimon_sql.spark.jvm.gateway import CONNECTOR


@dataclass(eq=False)
class LocalScanProxy(ScanInterface):
    """A ``LocalScan`` over an Arrow table.

    Attributes:
        compute: computes the rows, in the Arrow types of the columns, when the query runs.
    """

    implements = [f"{CONNECTOR}.read.LocalScan"]
    compute: Callable[[], pa.Table]

    def rows(self) -> Sequence[InternalRow]:
        return internal_rows(self.jvm, self.compute(), self.columns)
