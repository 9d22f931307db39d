"""Proxies of stored procedures: Paimon's, and the internal one that executes carried statements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

import pyarrow as pa

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import SYSTEM_DATABASE
from paimon_sql.errors import NotFoundError
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.records import to_arrow
from paimon_sql.format.schema.types import DataType
from paimon_sql.procedures import Procedure, procedures, run
from paimon_sql.procedures.base import Argument, Context
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.conversion.rows import row_values
from paimon_sql.spark.conversion.types import spark_type
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.java.catalyst import InternalRow
from paimon_sql.spark.java.connector import Ident
from paimon_sql.spark.java.objects import JavaIterator, JavaObject
from paimon_sql.spark.jvm.gateway import CATALOG, Jvm
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.materialized.refresh import SessionRefresher
from paimon_sql.spark.options.session import session_zone
from paimon_sql.spark.procedures.plain_tables import SessionTables
from paimon_sql.spark.scan.proxies.local import LocalScanProxy
from paimon_sql.spark.statements import StatementContext, run_statement
from paimon_sql.sql.carried_statements import INTERNAL_PROCEDURE, decode
from paimon_sql.system_tables.base import ProcedureInfo

RESULTS_SETTING = "spark.paimon.procedure.results"
"""``full``, the default, or ``connector``: only the result columns of Apache Paimon's own connector."""


Catalogs = Callable[[], Mapping[str, Catalog]]
"""The Paimon catalogs of the session, by name."""


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


def load_procedure(session: JvmSession, catalog: Catalog, ident: Ident, catalogs: Catalogs) -> UnboundProxy:
    """Return the procedure of a name, ignoring case.

    Raises:
        NotFoundError: there is no such procedure.
    """
    namespace = list(ident.namespace())
    is_system = [name.lower() for name in namespace] == [SYSTEM_DATABASE]
    found = procedures().get(ident.name().lower()) if is_system else None
    if found is None:
        called = ".".join([*namespace, ident.name()])
        raise NotFoundError(
            f"Catalog {catalog.name} has no procedure {called}.",
            name=called,
            remedy=f"SHOW PROCEDURES IN {catalog.name}.{SYSTEM_DATABASE} lists the existing ones.",
        )
    return UnboundProxy(ProcedureProxy(session, catalog, found, catalogs))


class UnboundProxy(Proxy):
    """An unbound procedure; it has only one signature."""

    implements = [f"{CATALOG}.procedures.UnboundProcedure"]

    def __init__(self, bound: BoundProxy) -> None:
        super().__init__(bound.jvm)
        self._bound = bound

    def toString(self) -> str:
        return self._bound.procedure

    def name(self) -> str:
        return self._bound.procedure

    def description(self) -> str:
        return self._bound.description()

    def bind(self, input_type: object) -> BoundProxy:
        return self._bound


class BoundProxy(Proxy, ABC):
    """A bound procedure, which must not be an unbound one as well: Spark's analyzer would bind it repeatedly.

    Attributes:
        procedure: the procedure's name.
    """

    implements = [f"{CATALOG}.procedures.BoundProcedure"]

    procedure: str

    def toString(self) -> str:
        return self.procedure

    def name(self) -> str:
        return self.procedure

    @abstractmethod
    def description(self) -> str: ...

    def isDeterministic(self) -> bool:
        return False

    @abstractmethod
    def parameters(self) -> Sequence[JavaObject]: ...

    @abstractmethod
    def call(self, row: InternalRow) -> JavaIterator: ...


class ProcedureProxy(BoundProxy):
    """A procedure of Paimon."""

    def __init__(self, session: JvmSession, catalog: Catalog, procedure: Procedure, catalogs: Catalogs) -> None:
        super().__init__(session.jvm)
        self.procedure = procedure.name
        self._catalogs = catalogs
        self._catalog = catalog
        self._session = session
        self._procedure = procedure

    def description(self) -> str:
        return describe(self._procedure)

    def parameters(self) -> Sequence[JavaObject]:
        parameters = [self._parameter(a) for a in self._procedure.arguments]
        return self.jvm.array(f"{CATALOG}.procedures.ProcedureParameter", parameters)

    def call(self, row: InternalRow) -> JavaIterator:
        arguments = self._procedure.arguments
        values = row_values(row, [a.type for a in arguments])
        given = {a.name: v for a, v in zip(arguments, values, strict=True)}
        session = self._session
        context = Context(
            self._catalog,
            ".".join(session.state.catalogManager().currentNamespace()) or "default",
            SparkExecutor(self.jvm),
            zone=session_zone(session),
            # The Thrift server interrupts the thread of a cancelled statement.
            is_cancelled=lambda: bool(self.jvm.static("java.lang.Thread", "currentThread")().isInterrupted()),
            others=self._catalogs(),
            plain_tables=SessionTables(session, self._catalog.options),
            refresher=SessionRefresher(session, self._catalog),
        )
        try:
            answer = run(context, self._procedure, given)
        finally:
            cached_tables.renew(session)
        of_connector = session.conf.get(RESULTS_SETTING, "full") == "connector"
        fields = self._procedure.results if of_connector else self._procedure.columns
        table = to_arrow(fields, answer.rows)
        scan = LocalScanProxy(session, fields, f"CALL sys.{self._procedure.name}", lambda: table)
        return self.jvm.java_list([scan]).iterator()

    def _parameter(self, argument: Argument) -> JavaObject:
        data_type = self.jvm.struct(spark_type(argument.type))
        kind = self.jvm.cls(f"{CATALOG}.procedures.ProcedureParameter")
        builder: JavaObject = getattr(kind, "in")(argument.name, data_type).comment(argument.meaning)
        return (builder if argument.required else builder.defaultValue("NULL")).build()


class MissingProcedureProxy(Proxy):
    """A placeholder for a procedure that does not exist: its methods raise the error."""

    implements = [f"{CATALOG}.procedures.UnboundProcedure"]

    def __init__(self, jvm: Jvm, error: NotFoundError) -> None:
        super().__init__(jvm)
        self._error = error

    def toString(self) -> str:
        return self._error.name

    def name(self) -> NoReturn:
        raise self._error

    def description(self) -> NoReturn:
        raise self._error

    def bind(self, input_type: object) -> NoReturn:
        raise self._error


class ExecuteProxy(BoundProxy):
    """The internal procedure: executes the statement that a CALL carries, and returns its result."""

    procedure = INTERNAL_PROCEDURE

    def __init__(self, context: StatementContext) -> None:
        super().__init__(context.session.jvm)
        self._context = context

    def description(self) -> str:
        return "Executes a statement of Paimon's dialect."

    def parameters(self) -> Sequence[JavaObject]:
        text = self.jvm.struct("string")
        kind = self.jvm.cls(f"{CATALOG}.procedures.ProcedureParameter")
        return self.jvm.array(
            f"{CATALOG}.procedures.ProcedureParameter", [getattr(kind, "in")("statement", text).build()]
        )

    def call(self, row: InternalRow) -> JavaIterator:
        try:
            answer = run_statement(decode("" if row.isNullAt(0) else row.getUTF8String(0).toString()), self._context)
        finally:
            cached_tables.renew(self._context.session)
        if not answer.columns:
            return self.jvm.java_list([]).iterator()
        names = [f.name for f in answer.columns]
        rows = [dict(zip(names, r, strict=True)) for r in answer.rows]
        table = pa.Table.from_pylist(rows, schema=arrow_schema(answer.columns))
        scan = LocalScanProxy(self._context.session, answer.columns, INTERNAL_PROCEDURE, lambda: table)
        return self.jvm.java_list([scan]).iterator()
