"""Python scan: workers read, merge and filter rows of a batch or a stream, and pass them to the JVM as Arrow."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import pyarrow as pa
from pyspark.sql.datasource import DataSource, InputPartition
from pyspark.sql.types import StructType
from pyspark.sql.udf import _wrap_function

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.rows import for_spark
from paimon_sql.spark.conversion.types import StructJson, spark_struct, struct_inside
from paimon_sql.spark.execution.executor import hide_traceback
from paimon_sql.spark.java.connector import Offset
from paimon_sql.spark.java.objects import JavaObject, Object
from paimon_sql.spark.jvm.gateway import CONNECTOR, EXECUTION, Jvm
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.scan.proxies.planned import PlannedScanProxy
from paimon_sql.spark.scan.reporting.partition_keys import TASKS
from paimon_sql.storage.scan.plan import ScanPlan
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.streams.source import Position, StreamSource, parse_position

_PYTHON = f"{EXECUTION}.datasources.v2.python"


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
        tasks_of: makes the tasks of a plan, grouped by Spark partition.
    """

    tasks_of: Callable[[ScanPlan], Sequence[Sequence[Task]]]

    @cached_property
    def _partitions(self) -> Sequence[Sequence[Task]]:
        return self.tasks_of(self.plan)

    @property
    def partition_count(self) -> int:
        return len(self._partitions)

    def planInputPartitions(self) -> Sequence[JavaObject]:
        if self.keys is None:
            return input_partitions(self.jvm, self._partitions)
        rows = self.keys.rows(self.plan)
        return _as_array(
            self.jvm,
            (
                TASKS.make(self.jvm, rows[self.keys.of(split)], i, self.jvm.pickle(TaskPartition(tasks)))
                for i, (split, tasks) in enumerate(zip(self.plan.splits, self._partitions, strict=True))
            ),
        )

    def createReaderFactory(self) -> JavaObject:
        return reader_factory(self.jvm, spark_struct(self.columns))


def input_partitions(jvm: Jvm, partitions: Sequence[Sequence[Task]]) -> Sequence[JavaObject]:
    """Spark's partitions for workers, each with its tasks in sequence."""
    made = (
        jvm.new(f"{_PYTHON}.PythonInputPartition", i, jvm.pickle(TaskPartition(tasks)))
        for i, tasks in enumerate(partitions)
    )
    return _as_array(jvm, made)


def _as_array(jvm: Jvm, partitions: Iterable[JavaObject]) -> Sequence[JavaObject]:
    return jvm.array(f"{CONNECTOR}.read.InputPartition", partitions)


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
_OFFSET = f"{EXECUTION}.datasources.v2.python.PythonStreamingSourceOffset"
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
