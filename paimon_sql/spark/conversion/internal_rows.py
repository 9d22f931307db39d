"""Conversion of Arrow columns to Spark's ``InternalRow[]``: rows of the driver enter the JVM without a job."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.arrow_types import for_spark
from paimon_sql.spark.conversion.types import row_struct
from paimon_sql.spark.jvm.gateway import CATALYST, EXECUTION, Jvm
from paimon_sql.storage.execution.threads import map_in_threads

_ROW = f"{CATALYST}.InternalRow"
_CONVERTERS = f"{EXECUTION}.arrow.ArrowConverters"
_PIECE_BYTES = 8 << 20
"""Bytes converted at once: by default Spark makes an RDD of more than 48 MB."""
_THREADS = 4
_CALL_BYTES = 64 << 10
"""Maximum bytes that pass through a call of Py4J, which encodes them as text; more cross faster by a file."""


def internal_rows(jvm: Jvm, session: Any, table: pa.Table, fields: Sequence[DataField]) -> Any:
    """The rows of a table as ``InternalRow[]``, converted inside the JVM.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        table: the rows, in the Arrow types of the fields.
        fields: the columns.
    """
    if not len(table):
        return jvm.array(_ROW)
    if table.num_rows == 1 and all(pa.types.is_int64(kind) for kind in table.schema.types):
        return jvm.array(_ROW, [_row_of_longs(jvm, [column[0].as_py() for column in table.columns])])
    struct = json.dumps(row_struct(fields))
    batches = table.combine_chunks().to_batches(max_chunksize=_rows_per_piece(table))
    pieces = map_in_threads(lambda batch: _converted(jvm, session, for_spark(batch), struct), batches, _THREADS)
    if len(pieces) == 1:
        return pieces[0]
    return jvm.singleton("scala.Array").concat(jvm.seq(pieces), _class_tag(jvm, _ROW))


def _rows_per_piece(table: pa.Table) -> int:
    pieces = max(1, -(-table.nbytes // _PIECE_BYTES))
    rows: int = -(-table.num_rows // pieces)
    return rows


def _converted(jvm: Jvm, session: Any, batch: pa.RecordBatch, struct: str) -> Any:
    """The rows of one batch."""
    if batch.nbytes <= _CALL_BYTES:
        return _of_messages(jvm, session, jvm.scala_iterator([bytearray(batch.serialize())]), struct)
    with tempfile.NamedTemporaryFile(prefix="paimon-sql-rows-", suffix=".arrow") as file:
        with pa.ipc.new_stream(file, batch.schema) as stream:
            stream.write_batch(batch)
        file.flush()
        # PySpark passes local data in the same way.
        messages = jvm.static("org.apache.spark.sql.api.python.PythonSQLUtils", "readArrowStreamFromFile")(file.name)
        return _of_messages(jvm, session, messages, struct)


def _of_messages(jvm: Jvm, session: Any, messages: Any, struct: str) -> Any:
    plan = jvm.singleton(_CONVERTERS).toDataFrame(messages, struct, session).queryExecution()
    relation = plan.analyzed()
    if relation.getClass().getSimpleName() != "LocalRelation":
        return plan.executedPlan().executeCollect()  # larger than the session's threshold for local relations
    return relation.data().toArray(_class_tag(jvm, _ROW))


def _class_tag(jvm: Jvm, name: str) -> Any:
    return jvm.constant(f"tag of {name}", lambda: jvm.singleton("scala.reflect.ClassTag").apply(jvm.java_class(name)))


def _row_of_longs(jvm: Jvm, values: Sequence[int | None]) -> Any:
    """A row of BIGINTs, such as a count: for one row the conversion of Arrow is much slower."""
    row = jvm.new(f"{CATALYST}.expressions.GenericInternalRow", len(values))
    for i, value in enumerate(values):
        if value is None:
            row.setNullAt(i)
        else:
            row.setLong(i, value)
    return row
