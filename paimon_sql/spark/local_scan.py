"""Rows that are known on the driver, as a scan that starts no job: metadata, procedure results, small look-ups."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from paimon_sql.format.types import DataField
from paimon_sql.spark.arrow_types import for_spark
from paimon_sql.spark.interfaces import ScanInterface
from paimon_sql.spark.java import CATALYST, CONNECTOR, EXECUTION, Jvm
from paimon_sql.spark.types import spark_struct


class LocalScanProxy(ScanInterface):
    """A ``LocalScan`` over an Arrow table.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        fields: the columns.
        rows: works out their values, in the Arrow types of the fields, when the query runs.
        what: a description for EXPLAIN.
    """

    def __init__(
        self, jvm: Jvm, session: Any, fields: Sequence[DataField], rows: Callable[[], pa.Table], what: str
    ) -> None:
        super().__init__(jvm)
        self._session = session
        self._struct = json.dumps(spark_struct(fields))
        self._rows = rows
        self._what = what

    def toString(self) -> str:
        return self._what

    def description(self) -> str:
        return self._what

    def readSchema(self) -> Any:
        return self.jvm.cls("org.apache.spark.sql.types.DataType").fromJson(self._struct)

    def rows(self) -> Any:
        return internal_rows(self.jvm, self._session, self._rows(), self._struct)

    class Java:
        implements = [f"{CONNECTOR}.read.LocalScan"]


def internal_rows(jvm: Jvm, session: Any, table: pa.Table, struct: str) -> Any:
    """Arrow columns as Spark's ``InternalRow[]``, converted inside the JVM in one step."""
    row_class = f"{CATALYST}.InternalRow"
    if not len(table):
        return jvm.array(row_class)
    batches = [_ipc(for_spark(batch)) for batch in table.combine_chunks().to_batches()]
    iterator = jvm.cls("scala.jdk.javaapi.CollectionConverters").asScala(jvm.java_list(batches).iterator())
    frame = jvm.singleton(f"{EXECUTION}.arrow.ArrowConverters").toDataFrame(iterator, struct, session)
    data = frame.queryExecution().analyzed().data()
    element = jvm.cls("java.lang.Class").forName(row_class)
    return data.toArray(jvm.singleton("scala.reflect.ClassTag").apply(element))


def _ipc(batch: pa.RecordBatch) -> bytearray:
    return bytearray(batch.serialize())
