"""The data source ``paimon``: a table by its path, ``spark.read.format("paimon").load(path)``.

Tables are better read by their names, through a catalog; this is for a table that no catalog of the session holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType
from pyspark.sql.udf import _wrap_function

from paimon_sql.catalog.kinds import kind_of
from paimon_sql.errors import InvalidInputError, NoSuchTableError, UnsupportedError
from paimon_sql.format.options.table import BRANCH
from paimon_sql.spark.arrow_types import for_spark
from paimon_sql.spark.java import EXECUTION, Jvm
from paimon_sql.spark.python_scan import TaskPartition
from paimon_sql.spark.types import spark_struct
from paimon_sql.storage.branching import on_its_branch
from paimon_sql.storage.file_io import file_io_of
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.schemas import SchemaManager
from paimon_sql.storage.table import Table


class PaimonDataSource(DataSource):
    """Reads the table whose folder the option ``path`` names."""

    @classmethod
    def name(cls) -> str:
        return "paimon"

    @cached_property
    def _table(self) -> Table:
        path = self.options.get("path")
        if not path:
            raise InvalidInputError(
                "The data source 'paimon' needs a path.", remedy="Say .load('<the table's folder>')."
            )
        file_io = file_io_of(path, dict(self.options))
        schema = SchemaManager(file_io, path).latest()
        if schema is None:
            raise NoSuchTableError(f"There is no Paimon table at {path}.", name=path)
        table = kind_of(schema).opened(Table(name=path, path=path, file_io=file_io, schema=schema), self.options)
        if not isinstance(table, Table):
            raise UnsupportedError(
                f"At {path} there is a format table.",
                remedy=f"Read its files: spark.read.format('{table.format}').load('{table.location}').",
            )
        return on_its_branch(table, self.options.get(BRANCH.key))

    def schema(self) -> StructType:
        return StructType.fromJson(json.loads(json.dumps(spark_struct(self._table.schema.fields))))

    def reader(self, schema: StructType) -> PaimonReader:
        return PaimonReader(self._table, schema.fieldNames())


class PaimonReader(DataSourceReader):
    """Reads all rows of a table's newest snapshot."""

    def __init__(self, table: Table, columns: Sequence[str]) -> None:
        self._table = table
        self._columns = tuple(columns)

    def partitions(self) -> list[InputPartition]:
        return [TaskPartition([ReadTask(self._table, s, self._columns)]) for s in plan_scan(self._table).splits]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, TaskPartition)
        for task in partition.tasks:
            for batch in map(for_spark, task.batches()):
                yield self._declared(batch)

    def _declared(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with columns that may hold nulls just where the schema says so, which Spark compares."""
        nullable = {f.name: f.type.nullable for f in self._table.schema.fields}
        fields = [f.with_nullable(nullable[f.name]) for f in batch.schema]
        return pa.RecordBatch.from_arrays(batch.columns, schema=pa.schema(fields))


def register_data_source(jvm: Jvm, session: Any) -> None:
    """Make ``paimon`` known to a JVM session.

    PySpark's own way asks the active session whether the name is taken, which may be another one.
    """
    manager = session.sessionState().dataSourceManager()
    if not manager.dataSourceExists(PaimonDataSource.name()):
        source = jvm.new(
            f"{EXECUTION}.datasources.v2.python.UserDefinedPythonDataSource",
            _wrap_function(jvm.context, PaimonDataSource),
        )
        manager.registerDataSource(PaimonDataSource.name(), source)
