"""Proxies of stored procedures: Paimon's, and the internal one that executes carried statements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import pyarrow as pa

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import SYSTEM_DATABASE
from paimon_sql.errors import NotFoundError
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.records import to_arrow
from paimon_sql.format.schema.types import DataField, DataType, string_type
from paimon_sql.procedures import Procedure, procedures, run
from paimon_sql.procedures.base import Argument, Context
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.conversion.rows import row_values
from paimon_sql.spark.conversion.types import spark_type
from paimon_sql.spark.execution.carried_statement import SessionCatalogs, StatementContext
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.java.catalyst import InternalRow
from paimon_sql.spark.java.connector import Ident
from paimon_sql.spark.java.objects import JavaIterator, JavaObject
from paimon_sql.spark.jvm.gateway import CATALOG, Jvm
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.materialized.refresh import SessionRefresher
from paimon_sql.spark.options import session_zone
from paimon_sql.spark.procedures.plain_tables import SessionTables
from paimon_sql.spark.scan.proxies.local import LocalScanProxy
from paimon_sql.spark.statements import run_statement
from paimon_sql.sql.carried_statements import INTERNAL_PROCEDURE, decode
from paimon_sql.system_tables.base import ProcedureInfo

RESULTS_SETTING = "spark.paimon.procedure.results"
"""``full``, the default, or ``connector``: only the result columns of Apache Paimon's own connector."""


_PARAMETER = f"{CATALOG}.procedures.ProcedureParameter"
_CARRIED = Argument("statement", string_type(), "the statement, encoded", required=True)


def describe_procedures() -> list[ProcedureInfo]:
    """All procedures, described by strings."""
    return [
        ProcedureInfo(
            name,
            ", ".join(f"{a.name} {_sql(a.type)}{' REQUIRED' if a.required else ''}" for a in p.arguments),
            ", ".join(f"{c.name} {_sql(c.type)}" for c in p.columns),
            p.summary,
            p.example,
        )
        for name, p in procedures().items()
    ]


def describe(procedure: Procedure) -> str:
    """The text of DESCRIBE PROCEDURE: summary, arguments, result columns and an example."""
    arguments = (
        f"  {a.name} {_sql(a.type)}{' (required)' if a.required else ''}: {a.meaning}" for a in procedure.arguments
    )
    answer = (f"  {c.name} {_sql(c.type)}: {c.description}" for c in procedure.columns)
    parts = [procedure.summary, "Arguments:", *arguments, "Output:", *answer, f"Example: {procedure.example}"]
    return "\n".join(parts)


def _sql(data_type: DataType) -> str:
    return data_type.as_nullable().sql()


def load_procedure(
    session: JvmSession, catalog: Catalog, ident: Ident, session_catalogs: SessionCatalogs
) -> UnboundProxy:
    """Return the procedure of a name, ignoring case; without one, a placeholder that raises NotFoundError."""
    if ident.name() == INTERNAL_PROCEDURE:
        context = StatementContext(session, catalog, session_catalogs)
        return UnboundProxy(session.jvm, INTERNAL_PROCEDURE, ExecuteProxy(context))
    namespace = list(ident.namespace())
    is_system = [name.lower() for name in namespace] == [SYSTEM_DATABASE]
    found = procedures().get(ident.name().lower()) if is_system else None
    if found is not None:
        return UnboundProxy(session.jvm, found.name, ProcedureProxy(session, catalog, found, session_catalogs))
    called = ".".join([*namespace, ident.name()])
    error = NotFoundError(
        f"Catalog {catalog.name} has no procedure {called}.",
        name=called,
        remedy=f"SHOW PROCEDURES IN {catalog.name}.{SYSTEM_DATABASE} lists the existing ones.",
    )
    return UnboundProxy(session.jvm, called, error)


class UnboundProxy(Proxy):
    """An unbound procedure, which has only one signature; the methods of one that does not exist raise the error."""

    implements = [f"{CATALOG}.procedures.UnboundProcedure"]

    def __init__(self, jvm: Jvm, called: str, bound: BoundProxy | NotFoundError) -> None:
        super().__init__(jvm)
        self._called = called
        self._bound = bound

    def toString(self) -> str:
        return self._called

    def name(self) -> str:
        return self._existing().name()

    def description(self) -> str:
        return self._existing().description()

    def bind(self, input_type: object) -> BoundProxy:
        return self._existing()

    def _existing(self) -> BoundProxy:
        if isinstance(self._bound, NotFoundError):
            raise self._bound
        return self._bound


class BoundProxy(Proxy, ABC):
    """A bound procedure, which must not be an unbound one as well: Spark's analyzer would bind it repeatedly.

    Args:
        session: the session.
        procedure: the procedure's name.
        description: the text of DESCRIBE PROCEDURE.
        arguments: its arguments.
        shown: a call in EXPLAIN.
    """

    implements = [f"{CATALOG}.procedures.BoundProcedure"]

    def __init__(
        self, session: JvmSession, procedure: str, description: str, arguments: Sequence[Argument], shown: str
    ) -> None:
        super().__init__(session.jvm)
        self._session = session
        self._name = procedure
        self._description = description
        self._arguments = arguments
        self._shown = shown

    def toString(self) -> str:
        return self._name

    def name(self) -> str:
        return self._name

    def description(self) -> str:
        return self._description

    def isDeterministic(self) -> bool:
        return False

    def parameters(self) -> Sequence[JavaObject]:
        return self.jvm.array(_PARAMETER, [self._parameter(a) for a in self._arguments])

    def call(self, row: InternalRow) -> JavaIterator:
        values = row_values(row, [a.type for a in self._arguments])
        try:
            fields, rows = self._run({a.name: v for a, v in zip(self._arguments, values, strict=True)})
        finally:
            cached_tables.renew(self._session)
        scans = [LocalScanProxy(self._session, fields, self._shown, lambda: rows)] if fields else []
        return self.jvm.java_list(scans).iterator()

    @abstractmethod
    def _run(self, given: Mapping[str, object]) -> tuple[Sequence[DataField], pa.Table]:
        """Run the procedure with arguments by name; return the columns of its result and the rows."""

    def _parameter(self, argument: Argument) -> JavaObject:
        data_type = self.jvm.struct(spark_type(argument.type))
        builder: JavaObject = getattr(self.jvm.cls(_PARAMETER), "in")(argument.name, data_type)
        builder = builder.comment(argument.meaning)
        return (builder if argument.required else builder.defaultValue("NULL")).build()


class ProcedureProxy(BoundProxy):
    """A procedure of Paimon."""

    def __init__(
        self, session: JvmSession, catalog: Catalog, procedure: Procedure, session_catalogs: SessionCatalogs
    ) -> None:
        name = procedure.name
        super().__init__(session, name, describe(procedure), procedure.arguments, f"CALL sys.{name}")
        self._catalogs = session_catalogs
        self._catalog = catalog
        self._procedure = procedure

    def _run(self, given: Mapping[str, object]) -> tuple[Sequence[DataField], pa.Table]:
        session = self._session
        context = Context(
            self._catalog,
            ".".join(session.state.catalogManager().currentNamespace()) or "default",
            SparkExecutor(self.jvm),
            zone=session_zone(session),
            # The Thrift server interrupts the thread of a cancelled statement.
            is_cancelled=lambda: bool(self.jvm.static("java.lang.Thread", "currentThread")().isInterrupted()),
            others=self._catalogs.all(),
            plain_tables=SessionTables(session, self._catalog.options),
            refresher=SessionRefresher(session, self._catalog),
        )
        answer = run(context, self._procedure, given)
        of_connector = session.conf.get(RESULTS_SETTING, "full") == "connector"
        fields = self._procedure.results if of_connector else self._procedure.columns
        return fields, to_arrow(fields, answer.rows)


class ExecuteProxy(BoundProxy):
    """The internal procedure: executes the statement that a CALL carries, and returns its result."""

    def __init__(self, context: StatementContext) -> None:
        summary = "Executes a statement of Paimon's dialect."
        super().__init__(context.session, INTERNAL_PROCEDURE, summary, [_CARRIED], INTERNAL_PROCEDURE)
        self._context = context

    def _run(self, given: Mapping[str, object]) -> tuple[Sequence[DataField], pa.Table]:
        answer = run_statement(decode(str(given[_CARRIED.name] or "")), self._context)
        names = [f.name for f in answer.columns]
        rows = [dict(zip(names, r, strict=True)) for r in answer.rows]
        return answer.columns, pa.Table.from_pylist(rows, schema=arrow_schema(answer.columns))
