"""Parser proxy in front of Spark's: rewrites statements of Paimon and Flink, and raises only declared errors.

Spark's parser raises some checked exceptions that ``ParserInterface`` does not declare, such as that about a
timestamp's precision. Raised by a proxy, the JVM would wrap them in an exception without a message.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import CapturedException

from paimon_sql.catalog.identifier import Identifier, parse_identifier
from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.errors import PaimonError, UnsupportedError
from paimon_sql.format.options.engines.spark import WRITE_HIVE_STYLE_DYNAMIC_PARTITION_ENABLED, WRITE_MERGE_SCHEMA
from paimon_sql.format.options.values import Option
from paimon_sql.procedures.base import Context
from paimon_sql.spark.catalog_objects.functions import blob_column, register_functions
from paimon_sql.spark.java.objects import JavaMethod, JavaObject, Throwable
from paimon_sql.spark.java.session import ClassicSession
from paimon_sql.spark.jvm.callbacks import disable_nagle
from paimon_sql.spark.jvm.compat import lacks_change_queries, with_parameters
from paimon_sql.spark.jvm.errors import thrown_by
from paimon_sql.spark.jvm.gateway import CATALYST, Jvm
from paimon_sql.spark.jvm.proxy import Proxy, raise_java
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.options import session_options
from paimon_sql.spark.session.attached import AttachedSession
from paimon_sql.sql import functions
from paimon_sql.sql.context import SESSION_CATALOG, TableName
from paimon_sql.sql.rewrite import RewriteContext, Rewritten, may_need_rewrite, rewrite
from paimon_sql.sql.statements.tables.create_table import UNSTORED_SETTING
from paimon_sql.storage.format_tables import FormatTable

_LOG = logging.getLogger("paimon_sql")
Attach = Callable[[ClassicSession], AttachedSession]
"""Returns the attached session of a JVM session, and attaches its catalogs first if it has none."""


class ParserProxy(Proxy):
    """One session's parser in front of Spark's own."""

    implements = [f"{CATALYST}.parser.ParserInterface"]

    MARK = "paimon-sql parser"

    def __init__(self, jvm: Jvm, attach: Attach, session: ClassicSession, delegate: JavaObject) -> None:
        super().__init__(jvm)
        self._attach = attach
        self._of_session: JvmSession | None = JvmSession(jvm, session)
        self._delegate = DeclaredErrors(jvm, delegate)
        self._attached: AttachedSession | None = None
        self._has_functions = False

    def toString(self) -> str:
        return self.MARK

    def parsePlan(self, text: str) -> JavaObject:
        canonical, _ = self._canonical(text)
        return self._delegate.call("parsePlan", canonical)

    def parsePlanWithParameters(self, text: str, parameters: JavaObject) -> JavaObject:
        canonical, is_bound = self._canonical(text, parameters)
        if is_bound:
            return self._delegate.call("parsePlan", canonical)
        return self._delegate.call("parsePlanWithParameters", canonical, parameters)

    def parseQuery(self, text: str) -> JavaObject:
        canonical, _ = self._canonical(text)
        return self._delegate.call("parseQuery", canonical)

    def parseExpression(self, text: str) -> JavaObject:
        return self._delegate.call("parseExpression", self._with_functions(text))

    def parseTableIdentifier(self, text: str) -> JavaObject:
        return self._delegate.call("parseTableIdentifier", text)

    def parseFunctionIdentifier(self, text: str) -> JavaObject:
        return self._delegate.call("parseFunctionIdentifier", text)

    def parseMultipartIdentifier(self, text: str) -> JavaObject:
        return self._delegate.call("parseMultipartIdentifier", _quoted_system_table(text))

    def parseTemporalTableIdentifier(self, text: str) -> JavaObject:
        return self._delegate.call("parseTemporalTableIdentifier", _quoted_system_table(text))

    def parseTableSchema(self, text: str) -> JavaObject:
        return self._delegate.call("parseTableSchema", text)

    def parseDataType(self, text: str) -> JavaObject:
        return self._delegate.call("parseDataType", text)

    def parseRoutineParam(self, text: str) -> JavaObject:
        return self._delegate.call("parseRoutineParam", text)

    def splitStatements(self, text: str) -> JavaObject:
        return self._delegate.call("splitStatements", text)

    def detach(self) -> None:
        """Drop the references to a closed session; the parser must not be used again."""
        self._of_session = self._attached = None

    @property
    def _session(self) -> JvmSession:
        assert self._of_session is not None, "the session is closed"
        return self._of_session

    def _canonical(self, text: str, parameters: JavaObject | None = None) -> tuple[str, bool]:
        """The SQL text for Spark's parser, and whether the values of its parameters are substituted already."""
        disable_nagle(self.jvm.gateway)
        attached = self._catalogs()
        substituted = self._with_variables(text)
        called = self._with_functions(substituted)
        if not may_need_rewrite(called):
            return (text if called is substituted else called), False
        context = self._context(attached)
        rewritten = rewrite(called, context)
        plain, binds = rewritten.spark_sql, False
        if rewritten.has_parameters and plain is not None and parameters is not None:
            given, binds = (plain, parameters), True
            bound = self._delegate.call_catching(lambda: with_parameters(self.jvm, *given), text)
            rewritten = rewrite(bound, context)
        self._check(rewritten)
        for warning in rewritten.warnings:
            _LOG.warning("%s", warning)
        return (text if rewritten.sql == substituted else rewritten.sql), binds

    def _with_variables(self, text: str) -> str:
        """The text with the values of ``${name}``, which may contain statements of ours."""
        if "${" not in text:
            return text
        return str(self.jvm.new("org.apache.spark.sql.internal.VariableSubstitution").substitute(text))

    def _catalogs(self) -> AttachedSession:
        self._attached = self._attached or self._attach(self._session.java)
        return self._attached

    def _with_functions(self, text: str) -> str:
        """Rewrite calls of catalog functions over columns to functions of the session, and register these."""
        if not functions.calls_functions(text):
            return functions.hide_session_functions(text) if self._has_functions else text
        rewritten, names = functions.rewrite_calls(text, self._context(self._catalogs()))
        if names:
            functions.check_not_in_definition(text, functions.called_function(names[0]))
            register_functions(self._session.python, names)
            self._has_functions = True
        return rewritten

    def _check(self, rewritten: Rewritten) -> None:
        if rewritten.has_parameters:
            raise UnsupportedError(
                "Parameters (? and :name) are not supported in this statement of Paimon.",
                remedy="Write the values into the statement.",
            )
        if rewritten.spark_sql is not None:
            # Parsed only for errors in carried expressions: raised now, with their position, before anything runs.
            self._delegate.call("parsePlan", rewritten.spark_sql)

    def _context(self, attached: AttachedSession) -> RewriteContext:
        manager = self._session.state.catalogManager()
        ours = frozenset(attached.catalogs)
        known = frozenset(self.jvm.items(manager.listCatalogs(self.jvm.none)))
        return RewriteContext(
            current_catalog=str(manager.currentCatalog().name()),
            current_database=".".join(manager.currentNamespace()),
            catalogs=ours,
            other_catalogs=known - ours,
            shared_catalogs=ours & {SESSION_CATALOG},
            default_provider=self._session.conf.get("spark.sql.sources.default"),
            is_foreign_table=attached.is_ordinary,
            partition_keys=lambda table: _partition_keys(attached, table),
            is_format_table=lambda table: isinstance(_open(attached, table), FormatTable),
            merges_schema=self._merges_schema,
            hive_columns=lambda table: self._hive_columns(attached, table),
            query_columns=self._query_columns,
            has_function=lambda function: _has_function(attached, function),
            blob_column=lambda catalog, table, column: blob_column(
                Context(attached.catalogs[catalog].catalog), table, column
            ),
            has_table=lambda table: _open(attached, table) is not None,
            refuses_unstored=lambda: self._session.conf.get(UNSTORED_SETTING, "") == "refuse",
        )

    def _merges_schema(self, table: TableName) -> bool:
        """Whether the session's options enable schema merging for a table."""
        return len(table) == 3 and self._is_set(table, WRITE_MERGE_SCHEMA)

    def _hive_columns(self, attached: AttachedSession, table: TableName) -> tuple[str, ...]:
        """The columns of a table if the session's options enable Hive-style dynamic partitions; otherwise empty."""
        found = _open(attached, table)
        enabled = found is not None and self._is_set(table, WRITE_HIVE_STYLE_DYNAMIC_PARTITION_ENABLED)
        return found.schema.names if found is not None and enabled else ()

    def _is_set(self, table: TableName, option: Option[bool]) -> bool:
        """Whether the session's options for a table set an option to true."""
        given = session_options(self._session, table[0], parse_identifier(table[1], table[2]))
        return given.get(option.key, "").lower() == "true"

    def _query_columns(self, query: str) -> tuple[str, ...]:
        """The names of a query's columns in lower case; empty if it is invalid, which the statement itself reports."""
        try:
            plan = self._session.execution(self._delegate.call("parsePlan", query)).analyzed()
        except (Py4JJavaError, PySparkException):
            return ()
        return tuple(attribute.name().lower() for attribute in self.jvm.items(plan.output()))


def _partition_keys(attached: AttachedSession, table: TableName) -> tuple[str, ...]:
    """The partition columns of a table; empty if there is no such table, which Spark reports."""
    found = _open(attached, table)
    return found.schema.partition_keys if found is not None else ()


def _open(attached: AttachedSession, table: TableName) -> AnyTable | None:
    """A table of any type; None if there is none."""
    if len(table) != 3:
        return None
    try:
        return attached.catalogs[table[0]].catalog.authorized_table(parse_identifier(table[1], table[2]))
    except PaimonError:
        return None


def _has_function(attached: AttachedSession, function: TableName) -> bool:
    """Whether a catalog has a function of that qualified name."""
    if len(function) != 3:
        return False
    try:
        return attached.catalogs[function[0]].catalog.function_name(Identifier(function[1], function[2])) is not None
    except PaimonError:
        return False


def _quoted_system_table(text: str) -> str:
    """A table's name with the part that contains ``$`` in backquotes, as ``spark.table("db.t$files")`` needs."""
    if "$" not in text or "`" in text:
        return text
    return ".".join(f"`{part}`" if "$" in part else part for part in text.split("."))


T = TypeVar("T")

_PARSE_EXCEPTION = f"{CATALYST}.parser.ParseException"


class DeclaredErrors:
    """A parser of the JVM whose methods raise only ``ParseException`` or unchecked exceptions."""

    def __init__(self, jvm: Jvm, parser: JavaObject) -> None:
        self._jvm = jvm
        self._parser = parser

    def call(self, method: str, text: str, *arguments: object) -> JavaObject:
        """The result of one of the parser's methods for a text."""
        parse: JavaMethod = getattr(self._parser, method)
        return self.call_catching(lambda: parse(text, *arguments), text)

    def call_catching(self, ask: Callable[[], T], text: str) -> T:
        """The result of a parser call for a text; errors are converted to declared ones."""
        try:
            return ask()
        except (Py4JJavaError, CapturedException) as error:
            origin = thrown_by(error)
            if origin is not None and self._is_hidden(origin):
                raise_java(self._declared(origin, text))
            if lacks_change_queries(text):
                raise UnsupportedError(
                    "CHANGES FROM needs PySpark 4.2 or newer.",
                    remedy="Read the table's $audit_log with the option 'incremental-between'.",
                ) from None
            raise

    def _is_hidden(self, exception: Throwable) -> bool:
        """Whether the JVM would hide the exception from a proxy's caller, and it can be converted."""
        gateway = self._jvm.gateway
        return (
            is_instance_of(gateway, exception, "org.apache.spark.SparkThrowable")
            and not is_instance_of(gateway, exception, "java.lang.RuntimeException")
            and not is_instance_of(gateway, exception, _PARSE_EXCEPTION)
        )

    def _declared(self, exception: Throwable, text: str) -> Throwable:
        jvm = self._jvm
        parameters = jvm.scala_map(exception.getMessageParameters())
        return jvm.new(
            _PARSE_EXCEPTION,
            jvm.some(text),
            jvm.cls(f"{CATALYST}.trees.CurrentOrigin").get(),
            exception.getCondition(),
            parameters,
        )
