"""What scans that were planned over data files tell Spark, whoever reads them: a description, metrics, statistics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from paimon_sql.format.types import DataField
from paimon_sql.spark.interfaces import ScanInterface
from paimon_sql.spark.java import CONNECTOR, Jvm
from paimon_sql.spark.references import references_to
from paimon_sql.spark.runtime_filters import RuntimeFilters
from paimon_sql.spark.scan_metrics import reported_metrics, supported_metrics
from paimon_sql.spark.statistics import StatisticsProxy, bytes_of
from paimon_sql.storage.scan.plan import ScanPlan


class PlannedScanProxy(ScanInterface, ABC):
    """A scan over a plan.

    Args:
        jvm: the JVM.
        what: a description for EXPLAIN.
        plan: the plan.
        fields: the columns of the rows.

    Attributes:
        runtime: what takes the conditions that are known only while a query runs; None if nothing does.
    """

    runtime: RuntimeFilters | None = None

    def __init__(self, jvm: Jvm, what: str, plan: ScanPlan, fields: Sequence[DataField]) -> None:
        super().__init__(jvm)
        self._fields = fields
        self._what = what
        self._plan = self._left = plan

    def toString(self) -> str:
        return self.description()

    def description(self) -> str:
        if self._left is self._plan:
            return self._what
        left, planned = self._left.metrics, self._plan.metrics
        return f"{self._what}, of which a join left {left.files_read} of {planned.files_read} files"

    @abstractmethod
    def over(self, plan: ScanPlan) -> PlannedScanProxy:
        """The same scan over another plan."""

    def filterAttributes(self) -> Any:
        return references_to(self.jvm, ()) if self.runtime is None else self.runtime.attributes()

    def filter(self, conditions: Any) -> None:
        if self.runtime is not None:
            self.runtime.take(conditions)

    def toBatch(self) -> Any:
        # Spark asks again once it has said the conditions. This scan, which may stand elsewhere too, stays as it is.
        left = None if self.runtime is None else self.runtime.taken()
        if left is None:
            return self
        self._left = left
        return self.over(left)

    def pushedPredicates(self) -> Any:
        return self.jvm.array(f"{CONNECTOR}.expressions.filter.Predicate")

    def supportsIterativePushdown(self) -> bool:
        return False

    def supportedCustomMetrics(self) -> Any:
        return supported_metrics(self.jvm, self._plan)

    def reportDriverMetrics(self) -> Any:
        return reported_metrics(self.jvm, self._left)

    def estimateStatistics(self) -> Any:
        return StatisticsProxy(self.jvm, self._plan, self._fields)

    def estimateSizeInBytes(self) -> Any:
        return self.jvm.cls("java.util.OptionalLong").of(bytes_of(self._plan, self._fields))

    def reflectsFullyPushedDownFilters(self) -> bool:
        # Otherwise Spark would keep a filter above the scan that the scan has decided.
        return True

    class Java:
        implements = [
            f"{CONNECTOR}.read.SupportsReportStatistics",
            f"{CONNECTOR}.read.SupportsRuntimeV2Filtering",
            f"{CONNECTOR}.read.Batch",
        ]
