"""Local scan: rows of the driver, without a job: metadata, results of procedures, small look-ups."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pyarrow as pa

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.connector.interfaces import NO_TRAITS, ScanInterface, ScanTraits
from paimon_sql.spark.conversion.rows import internal_rows
from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.java.catalyst import InternalRow, StructType
from paimon_sql.spark.jvm.gateway import CONNECTOR
from paimon_sql.spark.jvm.session import JvmSession


class LocalScanProxy(ScanInterface):
    """A ``LocalScan`` over an Arrow table.

    Args:
        session: the session.
        fields: the columns.
        rows: computes the rows, in the Arrow types of the fields, when the query runs.
        what: a description for EXPLAIN.
        traits: what it offers besides its rows.
    """

    implements = [f"{CONNECTOR}.read.LocalScan"]

    def __init__(
        self,
        session: JvmSession,
        fields: Sequence[DataField],
        rows: Callable[[], pa.Table],
        what: str,
        traits: ScanTraits = NO_TRAITS,
    ) -> None:
        super().__init__(session.jvm, traits)
        self._session = session
        self._fields = tuple(fields)
        self._rows = rows
        self._what = what

    def toString(self) -> str:
        return self._what

    def readSchema(self) -> StructType:
        return self.jvm.struct(json.dumps(spark_struct(self._fields)))

    def rows(self) -> Sequence[InternalRow]:
        return internal_rows(self._session, self._rows(), self._fields)
