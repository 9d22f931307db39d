"""What scans that were planned over data files tell Spark, whoever reads them: a description, metrics, statistics."""

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
    """The scan's metric, as ``CustomMetric[]``; its description is the name that the UI shows."""
    m = plan.metrics
    title = (
        f"bytes planned, in {m.files_read} of {m.files} files ({m.files - m.files_read} skipped), "
        f"{m.manifests_read} of {m.manifests} manifests ({m.manifests - m.manifests_read} skipped)"
    )
    return jvm.array(f"{CONNECTOR}.metric.CustomMetric", [jvm.new(f"{_PYTHON}.PythonCustomMetric", _KEY, title)])


def reported_metrics(jvm: Jvm, plan: ScanPlan) -> Any:
    """The metric's value, as ``CustomTaskMetric[]``; known as soon as the scan is planned."""
    value = jvm.new(f"{_PYTHON}.PythonCustomTaskMetric", _KEY, plan.metrics.bytes_read)
    return jvm.array(f"{CONNECTOR}.metric.CustomTaskMetric", [value])


class PlannedScanProxy(ScanInterface, ABC):
    """A scan over a plan.

    Args:
        jvm: the JVM.
        what: a description for EXPLAIN.
        plan: the plan.
        columns: the columns of the rows, in the order in which they are given.

    Attributes:
        plan: the plan.
        columns: the columns of the rows.
        runtime: what takes the conditions that are known only while a query runs; None if nothing does.
        keys: how its partitions are told apart; None if they are packed as is best for reading.
        native_twin: a scan by Spark's own reader that may stand in its place, with a filter above it; None without.
    """

    runtime: RuntimeFilters | None = None
    keys: PartitionKeys | None = None
    native_twin: PlannedScanProxy | None = None
    with_native_twin: ClassVar[WeakSet[PlannedScanProxy]] = WeakSet()
    """The scans that offer one and that Spark may still hold."""
    in_buckets: ClassVar[WeakSet[PlannedScanProxy]] = WeakSet()
    """The scans whose rows are known to be in buckets, and that Spark may still hold."""
    _bucketing: Bucketing | None = None

    def __init__(self, jvm: Jvm, what: str, plan: ScanPlan, columns: Sequence[DataField]) -> None:
        super().__init__(jvm)
        self.columns = columns
        self._what = what
        self.plan = self._left = plan

    def toString(self) -> str:
        return self.description()

    def description(self) -> str:
        what = self._what if self.keys is None else f"{self._what}, apart by {self.keys.describe(self.plan)}"
        if self._left is self.plan:
            return what
        left, planned = self._left.metrics, self.plan.metrics
        return f"{what}, of which a join left {left.files_read} of {planned.files_read} files"

    def _is_like(self, other: ScanInterface) -> bool:
        return isinstance(other, PlannedScanProxy) and self.keys == other.keys and super()._is_like(other)

    @property
    def stand_ins(self) -> tuple[PlannedScanProxy, ...]:
        """The scans that rules may put in its place."""
        return () if self.native_twin is None else (self.native_twin,)

    @property
    def bucketing(self) -> Bucketing | None:
        """In which buckets its rows are; None if that cannot be told."""
        return self._bucketing

    @bucketing.setter
    def bucketing(self, bucketing: Bucketing | None) -> None:
        self._bucketing = bucketing
        if bucketing is not None:
            self.in_buckets.add(self)

    @property
    @abstractmethod
    def partition_count(self) -> int:
        """Into how many partitions its files are packed as is best for reading."""

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
        made = self.over(left if self.keys is None else self.keys.arranged(left))
        made.keys = self.keys
        return made

    def keyed(self, keys: PartitionKeys, plan: ScanPlan) -> PlannedScanProxy:
        """The same scan with partitions that are told apart so, over its plan as `PartitionKeys.arranged` gives it."""
        made = self.over(plan)
        made.keys, made.runtime, made.likeness, made.stream = keys, self.runtime, self.likeness, self.stream
        return made

    def pushedPredicates(self) -> Any:
        return self.jvm.array(f"{CONNECTOR}.expressions.filter.Predicate")

    def supportsIterativePushdown(self) -> bool:
        return False

    def supportedCustomMetrics(self) -> Any:
        return supported_metrics(self.jvm, self.plan)

    def reportDriverMetrics(self) -> Any:
        return reported_metrics(self.jvm, self._left)

    def estimateStatistics(self) -> Any:
        return StatisticsProxy(self.jvm, self.plan, self.columns)

    def estimateSizeInBytes(self) -> Any:
        return self.jvm.cls("java.util.OptionalLong").of(bytes_of(self.plan, self.columns))

    def reflectsFullyPushedDownFilters(self) -> bool:
        # Otherwise Spark would keep a filter above the scan that the scan has decided.
        return True

    class Java:
        implements = [
            f"{CONNECTOR}.read.SupportsReportStatistics",
            f"{CONNECTOR}.read.SupportsRuntimeV2Filtering",
            f"{CONNECTOR}.read.Batch",
        ]
