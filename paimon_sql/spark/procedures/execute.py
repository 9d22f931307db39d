"""The internal procedure that executes carried statements: ``CALL catalog.sys.__execute(statement => '…')``."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.jvm.gateway import CATALOG, JavaObject, Jvm
from paimon_sql.spark.scan.proxies.local import LocalScanProxy
from paimon_sql.spark.statements import StatementContext, run_statement
from paimon_sql.sql.carry import INTERNAL_PROCEDURE, decode


class ExecuteProxy(JavaObject):
    """The unbound procedure."""

    def __init__(self, jvm: Jvm, context: StatementContext) -> None:
        super().__init__(jvm)
        self._context = context

    def toString(self) -> str:
        return INTERNAL_PROCEDURE

    def name(self) -> str:
        return INTERNAL_PROCEDURE

    def description(self) -> str:
        return "Executes a statement of Paimon's dialect."

    def bind(self, input_type: Any) -> BoundExecuteProxy:
        return BoundExecuteProxy(self.jvm, self._context)

    class Java:
        implements = [f"{CATALOG}.procedures.UnboundProcedure"]


class BoundExecuteProxy(JavaObject):
    """The bound procedure: executes the statement that a CALL carries, and returns its result.

    It must not be an unbound procedure as well: Spark's analyzer would bind it repeatedly.
    """

    def __init__(self, jvm: Jvm, context: StatementContext) -> None:
        super().__init__(jvm)
        self._context = context

    def toString(self) -> str:
        return INTERNAL_PROCEDURE

    def name(self) -> str:
        return INTERNAL_PROCEDURE

    def description(self) -> str:
        return "Executes a statement of Paimon's dialect."

    def isDeterministic(self) -> bool:
        return False

    def parameters(self) -> Any:
        text = self.jvm.cls("org.apache.spark.sql.types.DataType").fromJson('"string"')
        kind = self.jvm.cls(f"{CATALOG}.procedures.ProcedureParameter")
        return self.jvm.array(
            f"{CATALOG}.procedures.ProcedureParameter", [getattr(kind, "in")("statement", text).build()]
        )

    def call(self, row: Any) -> Any:
        try:
            answer = run_statement(decode("" if row.isNullAt(0) else row.getUTF8String(0).toString()), self._context)
        finally:
            cached_tables.renew(self.jvm, self._context.session)
        if not answer.columns:
            return self.jvm.java_list([]).iterator()
        names = [f.name for f in answer.columns]
        rows = [dict(zip(names, r, strict=True)) for r in answer.rows]
        table = pa.Table.from_pylist(rows, schema=arrow_schema(answer.columns))
        scan = LocalScanProxy(self.jvm, self._context.session, answer.columns, lambda: table, INTERNAL_PROCEDURE)
        return self.jvm.java_list([scan]).iterator()

    class Java:
        implements = [f"{CATALOG}.procedures.BoundProcedure"]
