"""What scans that were planned over data files tell Spark, whoever reads them: a description, metrics, statistics."""

from __future__ import annotations

from typing import Any

from paimon_sql.spark.interfaces import ScanInterface
from paimon_sql.spark.java import CONNECTOR, Jvm
from paimon_sql.spark.scan_metrics import reported_metrics, supported_metrics
from paimon_sql.spark.statistics import StatisticsProxy
from paimon_sql.storage.scan.plan import ScanPlan


class PlannedScanProxy(ScanInterface):
    """A scan over a plan.

    Args:
        jvm: the JVM.
        what: a description for EXPLAIN.
        plan: the plan.
    """

    def __init__(self, jvm: Jvm, what: str, plan: ScanPlan) -> None:
        super().__init__(jvm)
        self._what = what
        self._plan = plan

    def toString(self) -> str:
        return self._what

    def description(self) -> str:
        return self._what

    def supportedCustomMetrics(self) -> Any:
        return supported_metrics(self.jvm, self._plan)

    def reportDriverMetrics(self) -> Any:
        return reported_metrics(self.jvm, self._plan)

    def estimateStatistics(self) -> Any:
        return StatisticsProxy(self.jvm, self._plan)

    def estimateSizeInBytes(self) -> Any:
        return self.jvm.cls("java.util.OptionalLong").of(self._plan.metrics.bytes_read)

    def reflectsFullyPushedDownFilters(self) -> bool:
        # Otherwise Spark would keep a filter above the scan that the scan has decided.
        return True

    class Java:
        implements = [f"{CONNECTOR}.read.SupportsReportStatistics", f"{CONNECTOR}.read.Batch"]
