"""Python scan: workers read, merge and filter rows and pass them to the JVM as Arrow."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql.datasource import DataSource, InputPartition
from pyspark.sql.types import StructType
from pyspark.sql.udf import _wrap_function

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.arrow_types import for_spark
from paimon_sql.spark.conversion.types import spark_struct, without_lengths
from paimon_sql.spark.execution.worker_errors import hide_traceback
from paimon_sql.spark.jvm.gateway import CONNECTOR, EXECUTION, Jvm
from paimon_sql.spark.scan.proxies.planned import PlannedScanProxy
from paimon_sql.spark.scan.reporting.partition_keys import TASKS
from paimon_sql.storage.scan.plan import ScanPlan

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


class PythonScanProxy(PlannedScanProxy):
    """A scan over read tasks, grouped by Spark partition.

    ``partitions_of`` makes the tasks of another plan; it is required for `over`.
    """

    def __init__(
        self,
        jvm: Jvm,
        partitions: Sequence[Sequence[Task]],
        fields: Sequence[DataField],
        what: str,
        plan: ScanPlan,
        native_twin: PlannedScanProxy | None = None,
        partitions_of: Callable[[ScanPlan], Sequence[Sequence[Task]]] | None = None,
    ) -> None:
        super().__init__(jvm, what, plan, fields)
        self._partitions = partitions
        self._struct = spark_struct(fields)
        self._partitions_of = partitions_of
        self.native_twin = native_twin
        if native_twin is not None:
            self.with_native_twin.add(self)

    def over(self, plan: ScanPlan) -> PythonScanProxy:
        tasks_of = self._partitions_of
        assert tasks_of is not None
        return PythonScanProxy(self.jvm, tasks_of(plan), self.columns, self._what, plan, partitions_of=tasks_of)

    @property
    def partition_count(self) -> int:
        return len(self._partitions)

    def readSchema(self) -> Any:
        return self.jvm.struct(json.dumps(self._struct))

    def planInputPartitions(self) -> Any:
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

    def createReaderFactory(self) -> Any:
        return reader_factory(self.jvm, self._struct)


def input_partitions(jvm: Jvm, partitions: Sequence[Sequence[Task]]) -> Any:
    """Spark's partitions for workers, each with its tasks in sequence."""
    made = (
        jvm.new(f"{_PYTHON}.PythonInputPartition", i, jvm.pickle(TaskPartition(tasks)))
        for i, tasks in enumerate(partitions)
    )
    return _as_array(jvm, made)


def _as_array(jvm: Jvm, partitions: Iterable[Any]) -> Any:
    return jvm.array(f"{CONNECTOR}.read.InputPartition", partitions)


def reader_factory(jvm: Jvm, struct: dict[str, Any]) -> Any:
    """The reader factory of such partitions, for rows of a struct in Spark's JSON form.

    CHAR and VARCHAR become strings: PySpark's workers of 4.1 do not know them.
    """
    struct = without_lengths(struct)
    source = jvm.new(f"{_PYTHON}.UserDefinedPythonDataSource", _wrap_function(jvm.context, _Source))
    function = jvm.pickle((read_partition, StructType.fromJson(struct)))
    schema = jvm.struct(json.dumps(struct))
    return jvm.new(f"{_PYTHON}.PythonPartitionReaderFactory", source, function, schema, jvm.none, jvm.none)
