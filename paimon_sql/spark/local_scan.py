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
from paimon_sql.spark.types import row_struct, spark_struct


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
        self._fields = tuple(fields)
        self._rows = rows
        self._what = what

    def toString(self) -> str:
        return self._what

    def description(self) -> str:
        return self._what

    def readSchema(self) -> Any:
        return self.jvm.struct(json.dumps(spark_struct(self._fields)))

    def rows(self) -> Any:
        return internal_rows(self.jvm, self._session, self._rows(), self._fields)

    class Java:
        implements = [f"{CONNECTOR}.read.LocalScan"]


def internal_rows(jvm: Jvm, session: Any, table: pa.Table, fields: Sequence[DataField]) -> Any:
    """Arrow columns as Spark's ``InternalRow[]``, converted inside the JVM in one step."""
    row_class = f"{CATALYST}.InternalRow"
    if not len(table):
        return jvm.array(row_class)
    if table.num_rows == 1 and all(pa.types.is_int64(kind) for kind in table.schema.types):
        return jvm.array(row_class, [_row_of_longs(jvm, [column[0].as_py() for column in table.columns])])
    batches = [_ipc(for_spark(batch)) for batch in table.combine_chunks().to_batches()]
    iterator = jvm.scala_iterator(batches)
    struct = json.dumps(row_struct(fields))
    frame = jvm.singleton(f"{EXECUTION}.arrow.ArrowConverters").toDataFrame(iterator, struct, session)
    data = frame.queryExecution().analyzed().data()
    return data.toArray(jvm.constant("tag of rows", lambda: _class_tag(jvm, row_class)))


def _class_tag(jvm: Jvm, name: str) -> Any:
    return jvm.singleton("scala.reflect.ClassTag").apply(jvm.java_class(name))


def _row_of_longs(jvm: Jvm, values: Sequence[int | None]) -> Any:
    """A row of BIGINTs, such as a count; converting so little as Arrow would take much longer."""
    row = jvm.new(f"{CATALYST}.expressions.GenericInternalRow", len(values))
    for i, value in enumerate(values):
        if value is None:
            row.setNullAt(i)
        else:
            row.setLong(i, value)
    return row


def _ipc(batch: pa.RecordBatch) -> bytearray:
    return bytearray(batch.serialize())
