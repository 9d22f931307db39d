"""What a scan tells Spark's optimizer: about how many rows and bytes it reads."""

from __future__ import annotations

from typing import Any

from paimon_sql.spark.java import CONNECTOR, JavaObject, Jvm
from paimon_sql.storage.scan.plan import ScanPlan


class StatisticsProxy(JavaObject):
    """Rows and bytes of a scan; columns are not described."""

    def __init__(self, jvm: Jvm, size: int, rows: int) -> None:
        super().__init__(jvm)
        self._size = size
        self._rows = rows

    def sizeInBytes(self) -> Any:
        return self.jvm.cls("java.util.OptionalLong").of(self._size)

    def numRows(self) -> Any:
        return self.jvm.cls("java.util.OptionalLong").of(self._rows)

    def columnStats(self) -> Any:
        return self.jvm.java_map({})

    class Java:
        implements = [f"{CONNECTOR}.read.Statistics"]


def statistics(jvm: Jvm, plan: ScanPlan) -> StatisticsProxy:
    """The statistics of a plan, before rows are merged and filtered."""
    return StatisticsProxy(jvm, plan.metrics.bytes_read, plan.row_count)
