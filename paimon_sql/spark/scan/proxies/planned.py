"""Planned scans: the base of scans over data files, those by Python workers, and streams of micro-batches.

Workers read, merge and filter rows of a batch or a stream, and pass them to the JVM as Arrow.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Protocol
from weakref import WeakSet

import pyarrow as pa
from pyspark.sql.datasource import DataSource, InputPartition
from pyspark.sql.types import StructType
from pyspark.sql.udf import _wrap_function

from paimon_sql.format.schema.types import DataField
from paimon_sql.process import share
from paimon_sql.spark.connector.interfaces import ScanInterface, ScanTraits
from paimon_sql.spark.conversion.references import references_to
from paimon_sql.spark.conversion.rows import for_spark
from paimon_sql.spark.conversion.types import StructJson, spark_struct, struct_inside
from paimon_sql.spark.execution.executor import hide_traceback
from paimon_sql.spark.java.connector import ConnectorExpression, Offset
from paimon_sql.spark.java.objects import JavaObject, Object
from paimon_sql.spark.jvm.gateway import CONNECTOR, DATASOURCES, Jvm
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.scan.pushdown.runtime_filters import RuntimeFilters
from paimon_sql.spark.scan.reporting.partition_keys import TASKS, PartitionKeys
from paimon_sql.spark.scan.reporting.statistics import StatisticsProxy, bytes_of, optional_long
from paimon_sql.storage.scan.plan import ScanPlan
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.streams.source import Position, StreamSource, parse_position
from paimon_sql.storage.write.buckets.reported_partitioning import Bucketing

_PYTHON = f"{DATASOURCES}.v2.python"
_KEY = "paimonPlanned"
INPUT_PARTITION = f"{CONNECTOR}.read.InputPartition"


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


class Task(Protocol):
    """A picklable source of batches."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows."""


@dataclass
class TaskPartition(InputPartition):
    """One Spark partition: the tasks that its worker reads in sequence."""

    tasks: tuple[Task, ...]

    def __init__(self, tasks: Sequence[Task]) -> None:
        super().__init__(None)
        self.tasks = tuple(tasks)


def read_partition(iterator: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function of a worker: Spark sends the pickled partition, the worker returns its rows."""
    with hide_traceback():
        for batch in iterator:
            partition: TaskPartition = pickle.loads(batch.column(0)[0].as_py())
            yield from _with_one_schema(for_spark(rows) for task in partition.tasks for rows in task.batches())


def _with_one_schema(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches with one schema, as an Arrow stream requires: tasks differ in the nullability of columns."""
    schema: pa.Schema | None = None
    for batch in batches:
        if schema is None:
            schema = pa.schema([field.with_nullable(True) for field in batch.schema])
        yield batch if batch.schema.equals(schema) else batch.cast(schema)


class _Source(DataSource):
    """The data source that Spark requires of a reader; none of its methods is called."""


@dataclass(eq=False)
class PythonScanProxy(PlannedScanProxy):
    """A scan by read tasks.

    Attributes:
        tasks_of: makes the tasks of each split of a plan, or of each Spark partition if they are grouped.
        is_grouped: whether the tasks are grouped by Spark partition; otherwise a partition gets several small splits.
    """

    tasks_of: Callable[[ScanPlan], Sequence[Sequence[Task]]]
    is_grouped: bool = field(default=False, kw_only=True)

    @cached_property
    def _partitions(self) -> Sequence[Sequence[Task]]:
        made = self.tasks_of(self.plan)
        if self.is_grouped or self.keys is not None:
            return made
        return [list(chain.from_iterable(group)) for group in self.plan.packed(made, self.jvm.parallelism)]

    @property
    def partition_count(self) -> int:
        return len(self._partitions)

    def planInputPartitions(self) -> Sequence[JavaObject]:
        if self.keys is None:
            return input_partitions(self.jvm, self._partitions)
        rows = self.keys.rows(self.plan)
        made = [
            TASKS.make(self.jvm, rows[self.keys.of(split)], i, self.jvm.pickle(TaskPartition(tasks)))
            for i, (split, tasks) in enumerate(zip(self.plan.splits, self._partitions, strict=True))
        ]
        return self.jvm.array(INPUT_PARTITION, made)

    def createReaderFactory(self) -> JavaObject:
        return reader_factory(self.jvm, spark_struct(self.columns))


def input_partitions(jvm: Jvm, partitions: Sequence[Sequence[Task]]) -> Sequence[JavaObject]:
    """Spark's partitions for workers, each with its tasks in sequence."""
    made = (
        jvm.new(f"{_PYTHON}.PythonInputPartition", i, jvm.pickle(TaskPartition(tasks)))
        for i, tasks in enumerate(partitions)
    )
    return jvm.array(INPUT_PARTITION, made)


def reader_factory(jvm: Jvm, struct: StructJson) -> JavaObject:
    """The reader factory of such partitions, for rows of a struct in Spark's JSON form.

    CHAR and VARCHAR become strings: PySpark's workers of 4.1 do not know them.
    """
    struct = struct_inside(struct)
    source = jvm.new(f"{_PYTHON}.UserDefinedPythonDataSource", _wrap_function(jvm.context, _Source))
    function = jvm.pickle((read_partition, StructType.fromJson(struct)))
    schema = jvm.struct(struct)
    return jvm.new(f"{_PYTHON}.PythonPartitionReaderFactory", source, function, schema, jvm.none, jvm.none)


_STREAMING = f"{CONNECTOR}.read.streaming"
_OFFSET = f"{_PYTHON}.PythonStreamingSourceOffset"
_ALL = "ReadAllAvailable"


@dataclass(eq=False)
class MicroBatchStreamProxy(Proxy):
    """A table as a stream of micro-batches, read by Python workers.

    Attributes:
        source: the stream.
        fields: the columns of its rows.
        task_of: the task that reads a split.
    """

    implements = [f"{_STREAMING}.MicroBatchStream", f"{_STREAMING}.SupportsTriggerAvailableNow"]
    source: StreamSource
    fields: Sequence[DataField]
    task_of: Callable[[Split], Task]
    _until: Position | None = field(default=None, init=False)

    def toString(self) -> str:
        return f"paimon {self.source.table.name}"

    def initialOffset(self) -> Offset:
        return self._offset(self._begin)

    @cached_property
    def _begin(self) -> Position:
        return self.source.start()

    def deserializeOffset(self, text: str) -> Offset:
        return self._offset(parse_position(text))

    def getDefaultReadLimit(self) -> JavaObject:
        # Only its class matters (`latestOffset`): it marks a trigger with limits.
        return self.jvm.cls(f"{_STREAMING}.ReadLimit").maxRows(2**63 - 1)

    def reportLatestOffset(self) -> None:
        return None

    def prepareForTriggerAvailableNow(self) -> None:
        self._until = self.source.newest()

    def latestOffset(self, start: Offset | None = None, limit: Object | None = None) -> Offset | None:
        """The end of the next micro-batch, from its start and its read limit; Spark gives both or neither."""
        begin = self._begin if start is None else parse_position(start.json())
        limits = None if limit is None or limit.getClass().getSimpleName() == _ALL else self.source.limits
        end = self.source.end(begin, limits, self._until)
        return start if end is None else self._offset(end)

    def planInputPartitions(self, start: Offset, end: Offset) -> Sequence[JavaObject]:
        splits = self.source.splits(parse_position(start.json()), parse_position(end.json()))
        return input_partitions(self.jvm, [[self.task_of(split)] for split in splits])

    def createReaderFactory(self) -> JavaObject:
        return reader_factory(self.jvm, spark_struct(self.fields))

    def commit(self, end: Offset) -> None:
        self.source.done(parse_position(end.json()))

    def stop(self) -> None:
        pass

    def _offset(self, position: Position) -> Offset:
        return self.jvm.new(_OFFSET, position.to_json())
