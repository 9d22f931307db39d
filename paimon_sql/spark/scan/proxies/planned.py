"""Planned scan: the base of scans over data files, and a scan that is planned only if Spark asks for a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from weakref import WeakSet

from paimon_sql.process import share
from paimon_sql.spark.connector.interfaces import ScanInterface, ScanTraits
from paimon_sql.spark.conversion.references import references_to
from paimon_sql.spark.java.connector import ConnectorExpression
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import CONNECTOR, EXECUTION
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.scan.pushdown.runtime_filters import RuntimeFilters
from paimon_sql.spark.scan.reporting.partition_keys import PartitionKeys
from paimon_sql.spark.scan.reporting.statistics import StatisticsProxy, bytes_of, optional_long
from paimon_sql.storage.scan.plan import ScanPlan
from paimon_sql.storage.write.buckets.reported_partitioning import Bucketing

_PYTHON = f"{EXECUTION}.datasources.v2.python"
_KEY = "paimonPlanned"


@dataclass(frozen=True)
class PlannedTraits(ScanTraits):
    """What a planned scan offers besides its rows.

    Attributes:
        runtime: the runtime filters; None if it supports none.
        bucketing: the buckets of its rows; None if they are unknown.
        keys: the keys of its partitions; None if files are packed only by size.
    """

    runtime: RuntimeFilters | None = None
    bucketing: Bucketing | None = None
    keys: PartitionKeys | None = None


PLAIN = PlannedTraits()


@dataclass(eq=False)
class PlannedScanProxy(ScanInterface, ABC):
    """A scan over a plan.

    Attributes:
        plan: the plan.
        native_twin: a scan by Spark's own reader that may replace it, with a filter above; None without.
    """

    implements = [
        f"{CONNECTOR}.read.SupportsReportStatistics",
        f"{CONNECTOR}.read.SupportsRuntimeV2Filtering",
        f"{CONNECTOR}.read.Batch",
    ]

    plan: ScanPlan
    traits: PlannedTraits = field(default=PLAIN, kw_only=True)
    native_twin: PlannedScanProxy | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._remaining = self.plan
        if self.traits.bucketing is not None:
            scans_in_buckets().add(self)
        if self.native_twin is not None:
            scans_with_native_twin().add(self)

    @property
    def keys(self) -> PartitionKeys | None:
        """The keys of its partitions; None if files are packed only by size."""
        return self.traits.keys

    def toString(self) -> str:
        what = self.what if self.keys is None else f"{self.what}, partitioned by {self.keys.describe(self.plan)}"
        if self._remaining is self.plan:
            return what
        remaining, planned = self._remaining.metrics, self.plan.metrics
        return f"{what}, {remaining.files_read} of {planned.files_read} files after runtime filters"

    def _is_like(self, other: ScanInterface) -> bool:
        return isinstance(other, PlannedScanProxy) and self.keys == other.keys and super()._is_like(other)

    @property
    @abstractmethod
    def partition_count(self) -> int:
        """The number of partitions if files are packed only by size."""

    @abstractmethod
    def createReaderFactory(self) -> JavaObject: ...

    def over(self, plan: ScanPlan, traits: PlannedTraits) -> PlannedScanProxy:
        """The same scan over another plan, with other traits, and without a twin."""
        return replace(self, plan=plan, traits=traits, native_twin=None)

    def filterAttributes(self) -> Sequence[ConnectorExpression]:
        runtime = self.traits.runtime
        return references_to(self.jvm, ()) if runtime is None else runtime.attributes()

    def filter(self, conditions: Sequence[ConnectorExpression]) -> None:
        if self.traits.runtime is not None:
            self.traits.runtime.take(conditions)

    def toBatch(self) -> Proxy:
        # Spark calls this again after `filter`. The scan itself does not change, since other plans may use it.
        remaining = None if self.traits.runtime is None else self.traits.runtime.filtered_plan()
        if remaining is None:
            return self
        self._remaining = remaining
        plan = remaining if self.keys is None else self.keys.arranged(remaining)
        return self.over(plan, PlannedTraits(keys=self.keys))

    def with_keys(self, keys: PartitionKeys, plan: ScanPlan) -> PlannedScanProxy:
        """The same scan with partitions by these keys, over its plan from `PartitionKeys.arranged`."""
        return self.over(plan, replace(self.traits, keys=keys, bucketing=None))

    def pushedPredicates(self) -> Sequence[JavaObject]:
        return self.jvm.array(f"{CONNECTOR}.expressions.filter.Predicate")

    def supportsIterativePushdown(self) -> bool:
        return False

    def supportedCustomMetrics(self) -> Sequence[JavaObject]:
        # Spark's UI shows the description of the metric.
        m = self.plan.metrics
        title = (
            f"bytes planned, in {m.files_read} of {m.files} files ({m.files - m.files_read} skipped), "
            f"{m.manifests_read} of {m.manifests} manifests ({m.manifests - m.manifests_read} skipped)"
        )
        metric = self.jvm.new(f"{_PYTHON}.PythonCustomMetric", _KEY, title)
        return self.jvm.array(f"{CONNECTOR}.metric.CustomMetric", [metric])

    def reportDriverMetrics(self) -> Sequence[JavaObject]:
        # The value is known after planning.
        value = self.jvm.new(f"{_PYTHON}.PythonCustomTaskMetric", _KEY, self._remaining.metrics.bytes_read)
        return self.jvm.array(f"{CONNECTOR}.metric.CustomTaskMetric", [value])

    def estimateStatistics(self) -> StatisticsProxy:
        return StatisticsProxy(self.jvm, self.plan, self.columns)

    def estimateSizeInBytes(self) -> JavaObject:
        return optional_long(self.jvm, bytes_of(self.plan, self.columns))

    def reflectsFullyPushedDownFilters(self) -> bool:
        # Otherwise Spark would keep filters above the scan that the scan evaluates.
        return True


scans_with_native_twin = share(lambda: WeakSet[PlannedScanProxy]())
"""The live scans that have a native twin."""
scans_in_buckets = share(lambda: WeakSet[PlannedScanProxy]())
"""The live scans whose rows are in known buckets."""


@dataclass(eq=False)
class UnplannedScanProxy(ScanInterface):
    """A stream of micro-batches, or a batch of all rows.

    Attributes:
        plan: plans the scan of the batch.
    """

    implements = [f"{CONNECTOR}.read.SupportsReportStatistics"]
    plan: Callable[[], PlannedScanProxy]

    @cached_property
    def _planned(self) -> PlannedScanProxy:
        return self.plan()

    def toBatch(self) -> Proxy:
        return self._planned.toBatch()

    def estimateStatistics(self) -> StatisticsProxy:
        return self._planned.estimateStatistics()

    def estimateSizeInBytes(self) -> JavaObject:
        return self._planned.estimateSizeInBytes()

    def reflectsFullyPushedDownFilters(self) -> bool:
        return True
