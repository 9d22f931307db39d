"""Proxies of stored procedures: Paimon's, and the internal one that executes carried statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.catalog.identifier import SYSTEM_DATABASE
from paimon_sql.errors import NotFoundError, did_you_mean
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.records import to_arrow
from paimon_sql.format.schema.types import DataField, DataType, string_type
from paimon_sql.procedures import Procedure, procedures, run
from paimon_sql.procedures.base import Argument, Context
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.conversion.rows import row_values
from paimon_sql.spark.conversion.types import spark_type
from paimon_sql.spark.execution.carried_statement import StatementContext
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.java.catalyst import InternalRow
from paimon_sql.spark.java.connector import Ident
from paimon_sql.spark.java.objects import JavaIterator, JavaObject
from paimon_sql.spark.jvm.gateway import CATALOG
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.jvm.session import SessionProxy
from paimon_sql.spark.materialized.refresh import SessionRefresher
from paimon_sql.spark.options import session_zone
from paimon_sql.spark.procedures.plain_tables import SessionTables
from paimon_sql.spark.scan.proxies.local import LocalScanProxy
from paimon_sql.spark.statements import run_statement
from paimon_sql.sql.carried_statements import INTERNAL_PROCEDURE, decode
from paimon_sql.system_tables.base import ProcedureInfo

RESULTS_SETTING = "spark.paimon.procedure.results"
"""``full``, the default, or ``connector``: only the result columns of Apache Paimon's own connector."""


_OTHER_NAMES = {
    "rewrite_data_files": "compact",
    "rewrite_manifests": "compact_manifest",
    "rollback_to_snapshot": "rollback",
    "snapshot": "copy",
    "migrate": "migrate_table",
    "run_compaction": "compact",
    "run_clean": "expire_snapshots",
}
"""Procedures of other lakehouses, with Paimon's."""
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


def load_procedure(context: StatementContext, ident: Ident) -> UnboundProxy:
    """Return the procedure of a name, ignoring case; without one, a placeholder that raises NotFoundError."""
    jvm, catalog = context.session.jvm, context.catalog
    if ident.name() == INTERNAL_PROCEDURE:
        return UnboundProxy(jvm, INTERNAL_PROCEDURE, _carrier(context))
    namespace = list(ident.namespace())
    is_system = [name.lower() for name in namespace] == [SYSTEM_DATABASE]
    found = procedures().get(ident.name().lower()) if is_system else None
    if found is not None:
        return UnboundProxy(jvm, found.name, _bound(found, context))
    called = ".".join([*namespace, ident.name()])
    meant = _OTHER_NAMES.get(ident.name().lower(), ident.name())
    error = NotFoundError(
        f"Catalog {catalog.name} has no procedure {called}.",
        name=called,
        remedy=did_you_mean(f"{SYSTEM_DATABASE}.{meant}", (f"{SYSTEM_DATABASE}.{name}" for name in procedures()))
        or f"SHOW PROCEDURES IN {catalog.name}.{SYSTEM_DATABASE} lists the existing ones.",
    )
    return UnboundProxy(jvm, called, error)


@dataclass(eq=False)
class UnboundProxy(Proxy):
    """An unbound procedure, which has only one signature; the methods of one that does not exist raise the error."""

    implements = [f"{CATALOG}.procedures.UnboundProcedure"]
    called: str
    bound: BoundProxy | NotFoundError

    def toString(self) -> str:
        return self.called

    def name(self) -> str:
        return self._existing().name()

    def description(self) -> str:
        return self._existing().description()

    def bind(self, input_type: object) -> BoundProxy:
        return self._existing()

    def _existing(self) -> BoundProxy:
        if isinstance(self.bound, NotFoundError):
            raise self.bound
        return self.bound


@dataclass(eq=False)
class BoundProxy(SessionProxy):
    """A bound procedure, which must not be an unbound one as well: Spark's analyzer would bind it repeatedly.

    Attributes:
        procedure: the procedure's name.
        described: the text of DESCRIBE PROCEDURE.
        arguments: its arguments.
        shown: a call in EXPLAIN.
        run: runs it with arguments by name; returns the columns of its result and the rows.
    """

    implements = [f"{CATALOG}.procedures.BoundProcedure"]
    procedure: str
    described: str
    arguments: Sequence[Argument]
    shown: str
    run: Callable[[Mapping[str, object]], tuple[Sequence[DataField], pa.Table]]

    def toString(self) -> str:
        return self.procedure

    def name(self) -> str:
        return self.procedure

    def description(self) -> str:
        return self.described

    def isDeterministic(self) -> bool:
        return False

    def parameters(self) -> Sequence[JavaObject]:
        return self.jvm.array(_PARAMETER, [self._parameter(a) for a in self.arguments])

    def call(self, row: InternalRow) -> JavaIterator:
        values = row_values(row, [a.type for a in self.arguments])
        try:
            fields, rows = self.run({a.name: v for a, v in zip(self.arguments, values, strict=True)})
        finally:
            cached_tables.renew(self.session)
        scans = [LocalScanProxy(self.session, fields, self.shown, lambda: rows)] if fields else []
        return self.jvm.java_list(scans).iterator()

    def _parameter(self, argument: Argument) -> JavaObject:
        data_type = self.jvm.struct(spark_type(argument.type))
        builder: JavaObject = getattr(self.jvm.cls(_PARAMETER), "in")(argument.name, data_type)
        builder = builder.comment(argument.meaning)
        return (builder if argument.required else builder.defaultValue("NULL")).build()


def _bound(procedure: Procedure, context: StatementContext) -> BoundProxy:
    """A procedure of Paimon."""
    session, catalog = context.session, context.catalog

    def run_it(given: Mapping[str, object]) -> tuple[Sequence[DataField], pa.Table]:
        called = Context(
            catalog,
            ".".join(session.state.catalogManager().currentNamespace()) or "default",
            SparkExecutor(session.jvm),
            zone=session_zone(session),
            # The Thrift server interrupts the thread of a cancelled statement.
            is_cancelled=lambda: bool(session.jvm.static("java.lang.Thread", "currentThread")().isInterrupted()),
            others=context.session_catalogs.all(),
            plain_tables=SessionTables(session, catalog.options),
            refresher=SessionRefresher(session, catalog),
        )
        answer = run(called, procedure, given)
        of_connector = session.conf.get(RESULTS_SETTING, "full") == "connector"
        fields = procedure.results if of_connector else procedure.columns
        return fields, to_arrow(fields, answer.rows)

    name = procedure.name
    return BoundProxy(session, name, describe(procedure), procedure.arguments, f"CALL sys.{name}", run_it)


def _carrier(context: StatementContext) -> BoundProxy:
    """The internal procedure: executes the statement that a CALL carries, and returns its result."""

    def execute(given: Mapping[str, object]) -> tuple[Sequence[DataField], pa.Table]:
        answer = run_statement(decode(str(given[_CARRIED.name] or "")), context)
        names = [f.name for f in answer.columns]
        rows = [dict(zip(names, r, strict=True)) for r in answer.rows]
        return answer.columns, pa.Table.from_pylist(rows, schema=arrow_schema(answer.columns))

    summary = "Executes a statement of Paimon's dialect."
    return BoundProxy(context.session, INTERNAL_PROCEDURE, summary, [_CARRIED], INTERNAL_PROCEDURE, execute)
