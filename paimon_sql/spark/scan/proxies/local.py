"""Local scan: rows of the driver, without a job: metadata, results of procedures, small look-ups."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.connector.interfaces import ScanInterface
from paimon_sql.spark.conversion.internal_rows import internal_rows
from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.jvm.gateway import CONNECTOR, Jvm


class LocalScanProxy(ScanInterface):
    """A ``LocalScan`` over an Arrow table.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        fields: the columns.
        rows: computes the rows, in the Arrow types of the fields, when the query runs.
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
