"""Planned scan: the base of scans over data files, with description, metrics, statistics and runtime filters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar
from weakref import WeakSet

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.connector.interfaces import ScanInterface
from paimon_sql.spark.conversion.references import references_to
from paimon_sql.spark.jvm.gateway import CONNECTOR, EXECUTION, Jvm
from paimon_sql.spark.scan.pushdown.runtime_filters import RuntimeFilters
from paimon_sql.spark.scan.reporting.partition_keys import PartitionKeys
from paimon_sql.spark.scan.reporting.statistics import StatisticsProxy, bytes_of
from paimon_sql.storage.scan.plan import ScanPlan
from paimon_sql.storage.write.buckets.reported_partitioning import Bucketing

_PYTHON = f"{EXECUTION}.datasources.v2.python"
_KEY = "paimonPlanned"


def supported_metrics(jvm: Jvm, plan: ScanPlan) -> Any:
    """The scan's metric as ``CustomMetric[]``; Spark's UI shows its description."""
    m = plan.metrics
    title = (
        f"bytes planned, in {m.files_read} of {m.files} files ({m.files - m.files_read} skipped), "
        f"{m.manifests_read} of {m.manifests} manifests ({m.manifests - m.manifests_read} skipped)"
    )
    return jvm.array(f"{CONNECTOR}.metric.CustomMetric", [jvm.new(f"{_PYTHON}.PythonCustomMetric", _KEY, title)])


def reported_metrics(jvm: Jvm, plan: ScanPlan) -> Any:
    """The value of the metric as ``CustomTaskMetric[]``; it is known after planning."""
    value = jvm.new(f"{_PYTHON}.PythonCustomTaskMetric", _KEY, plan.metrics.bytes_read)
    return jvm.array(f"{CONNECTOR}.metric.CustomTaskMetric", [value])


class PlannedScanProxy(ScanInterface, ABC):
    """A scan over a plan.

    Args:
        jvm: the JVM.
        what: a description for EXPLAIN.
        plan: the plan.
        columns: the columns of the rows, in order.

    Attributes:
        plan: the plan.
        columns: the columns of the rows.
        runtime: the runtime filters; None if it supports none.
        keys: the keys of its partitions; None if files are packed only by size.
        native_twin: a scan by Spark's own reader that may replace it, with a filter above; None without.
    """

    runtime: RuntimeFilters | None = None
    keys: PartitionKeys | None = None
    native_twin: PlannedScanProxy | None = None
    with_native_twin: ClassVar[WeakSet[PlannedScanProxy]] = WeakSet()
    """The live scans that have a native twin."""
    in_buckets: ClassVar[WeakSet[PlannedScanProxy]] = WeakSet()
    """The live scans whose rows are in known buckets."""
    _bucketing: Bucketing | None = None

    def __init__(self, jvm: Jvm, what: str, plan: ScanPlan, columns: Sequence[DataField]) -> None:
        super().__init__(jvm)
        self.columns = columns
        self._what = what
        self.plan = self._remaining = plan

    def toString(self) -> str:
        return self.description()

    def description(self) -> str:
        what = self._what if self.keys is None else f"{self._what}, apart by {self.keys.describe(self.plan)}"
        if self._remaining is self.plan:
            return what
        remaining, planned = self._remaining.metrics, self.plan.metrics
        return f"{what}, of which a join left {remaining.files_read} of {planned.files_read} files"

    def _is_like(self, other: ScanInterface) -> bool:
        return isinstance(other, PlannedScanProxy) and self.keys == other.keys and super()._is_like(other)

    @property
    def replacements(self) -> tuple[PlannedScanProxy, ...]:
        """The scans that rules may replace it with."""
        return () if self.native_twin is None else (self.native_twin,)

    @property
    def bucketing(self) -> Bucketing | None:
        """The buckets of its rows; None if they are unknown."""
        return self._bucketing

    @bucketing.setter
    def bucketing(self, bucketing: Bucketing | None) -> None:
        self._bucketing = bucketing
        if bucketing is not None:
            self.in_buckets.add(self)

    @property
    @abstractmethod
    def partition_count(self) -> int:
        """The number of partitions if files are packed only by size."""

    @abstractmethod
    def over(self, plan: ScanPlan) -> PlannedScanProxy:
        """The same scan over another plan."""

    def filterAttributes(self) -> Any:
        return references_to(self.jvm, ()) if self.runtime is None else self.runtime.attributes()

    def filter(self, conditions: Any) -> None:
        if self.runtime is not None:
            self.runtime.take(conditions)

    def toBatch(self) -> Any:
        # Spark calls this again after `filter`. The scan itself does not change, since other plans may use it.
        remaining = None if self.runtime is None else self.runtime.filtered_plan()
        if remaining is None:
            return self
        self._remaining = remaining
        scan = self.over(remaining if self.keys is None else self.keys.arranged(remaining))
        scan.keys = self.keys
        return scan

    def with_keys(self, keys: PartitionKeys, plan: ScanPlan) -> PlannedScanProxy:
        """The same scan with partitions by these keys, over its plan from `PartitionKeys.arranged`."""
        scan = self.over(plan)
        scan.keys, scan.runtime, scan.equality, scan.stream = keys, self.runtime, self.equality, self.stream
        return scan

    def pushedPredicates(self) -> Any:
        return self.jvm.array(f"{CONNECTOR}.expressions.filter.Predicate")

    def supportsIterativePushdown(self) -> bool:
        return False

    def supportedCustomMetrics(self) -> Any:
        return supported_metrics(self.jvm, self.plan)

    def reportDriverMetrics(self) -> Any:
        return reported_metrics(self.jvm, self._remaining)

    def estimateStatistics(self) -> Any:
        return StatisticsProxy(self.jvm, self.plan, self.columns)

    def estimateSizeInBytes(self) -> Any:
        return self.jvm.cls("java.util.OptionalLong").of(bytes_of(self.plan, self.columns))

    def reflectsFullyPushedDownFilters(self) -> bool:
        # Otherwise Spark would keep filters above the scan that the scan evaluates.
        return True

    class Java:
        implements = [
            f"{CONNECTOR}.read.SupportsReportStatistics",
            f"{CONNECTOR}.read.SupportsRuntimeV2Filtering",
            f"{CONNECTOR}.read.Batch",
        ]
