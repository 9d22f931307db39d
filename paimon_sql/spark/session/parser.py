"""Parser proxy in front of Spark's: rewrites statements of Paimon and Flink to Spark SQL; others are unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from paimon_sql.catalog.identifier import Identifier, parse_identifier
from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.errors import PaimonError, UnsupportedError
from paimon_sql.format.options.engines.spark import WRITE_HIVE_STYLE_DYNAMIC_PARTITION_ENABLED, WRITE_MERGE_SCHEMA
from paimon_sql.procedures.base import Context
from paimon_sql.spark.catalog_objects.blob_functions import blob_column
from paimon_sql.spark.catalog_objects.system_functions import register_functions
from paimon_sql.spark.jvm.callbacks import disable_nagle
from paimon_sql.spark.jvm.compat import parse_exception, with_parameters
from paimon_sql.spark.jvm.gateway import CATALYST, EXECUTION, JavaObject, Jvm, raise_java
from paimon_sql.spark.options.session import session_options
from paimon_sql.spark.session.attached import AttachedSession
from paimon_sql.spark.session.parse_errors import DeclaredErrors
from paimon_sql.sql.context import SESSION_CATALOG, TableName
from paimon_sql.sql.functions.catalog_functions import called_function, calls_functions, rewrite_calls
from paimon_sql.sql.functions.session_functions import check_not_in_definition, hide_session_functions
from paimon_sql.sql.rewrite import RewriteContext, Rewritten, may_need_rewrite, rewrite
from paimon_sql.storage.format_tables import FormatTable

T = TypeVar("T")
Attach = Callable[[Any], AttachedSession]
"""Returns the attached session of a JVM session, and attaches its catalogs first if it has none."""


class ParserProxy(JavaObject):
    """One session's parser in front of Spark's own."""

    MARK = "paimon-sql parser"

    def __init__(self, jvm: Jvm, attach: Attach, session: Any, delegate: Any) -> None:
        super().__init__(jvm)
        self._attach = attach
        self._session = session
        self._delegate = DeclaredErrors(jvm, delegate)
        self._attached: AttachedSession | None = None
        self._has_functions = False

    def toString(self) -> str:
        return self.MARK

    def parsePlan(self, text: str) -> Any:
        canonical, _ = self._canonical(text)
        return self._with_declared_errors(lambda: self._delegate.parsePlan(canonical))

    def parsePlanWithParameters(self, text: str, parameters: Any) -> Any:
        canonical, is_bound = self._canonical(text, parameters)
        if is_bound:
            return self._with_declared_errors(lambda: self._delegate.parsePlan(canonical))
        return self._with_declared_errors(lambda: self._delegate.parsePlanWithParameters(canonical, parameters))

    def parseQuery(self, text: str) -> Any:
        canonical, _ = self._canonical(text)
        return self._with_declared_errors(lambda: self._delegate.parseQuery(canonical))

    def parseExpression(self, text: str) -> Any:
        return self._delegate.parseExpression(self._with_functions(text))

    def parseTableIdentifier(self, text: str) -> Any:
        return self._delegate.parseTableIdentifier(text)

    def parseFunctionIdentifier(self, text: str) -> Any:
        return self._delegate.parseFunctionIdentifier(text)

    def parseMultipartIdentifier(self, text: str) -> Any:
        return self._delegate.parseMultipartIdentifier(_quoted_system_table(text))

    def parseTemporalTableIdentifier(self, text: str) -> Any:
        return self._delegate.parseTemporalTableIdentifier(_quoted_system_table(text))

    def parseTableSchema(self, text: str) -> Any:
        return self._delegate.parseTableSchema(text)

    def parseDataType(self, text: str) -> Any:
        return self._delegate.parseDataType(text)

    def parseRoutineParam(self, text: str) -> Any:
        return self._delegate.parseRoutineParam(text)

    def splitStatements(self, text: str) -> Any:
        return self._delegate.splitStatements(text)

    def detach(self) -> None:
        """Drop the references to a closed session; the parser must not be used again."""
        self._session = self._attached = None

    def _canonical(self, text: str, parameters: Any = None) -> tuple[str, bool]:
        """The SQL text for Spark's parser, and whether the values of its parameters are substituted already."""
        disable_nagle(self.jvm.gateway)
        attached = self._catalogs()
        substituted = self._with_variables(text)
        called = self._with_functions(substituted)
        if not may_need_rewrite(called):
            return (text if called is substituted else called), False
        context = self._context(attached)
        rewritten = rewrite(called, context)
        binds = rewritten.has_parameters and rewritten.spark_sql is not None and parameters is not None
        if binds:
            plain = rewritten.spark_sql or ""
            bound = self._delegate.call_catching(lambda: with_parameters(self.jvm, plain, parameters), text)
            rewritten = rewrite(bound, context)
        self._check(rewritten)
        return (text if rewritten.sql == substituted else rewritten.sql), binds

    def _with_variables(self, text: str) -> str:
        """The text with the values of ``${name}``, which may contain statements of ours."""
        if "${" not in text:
            return text
        substituted: str = self.jvm.new("org.apache.spark.sql.internal.VariableSubstitution").substitute(text)
        return substituted

    def _with_declared_errors(self, parse: Callable[[], T]) -> T:
        """The result of Spark's parser; an exception that the interface does not declare is converted."""
        try:
            return parse()
        except Py4JJavaError as error:
            raised = error.java_exception
            if raised.getClass().getSimpleName() == "SqlScriptingException":
                raise_java(parse_exception(self.jvm, raised))
            raise

    def _catalogs(self) -> AttachedSession:
        self._attached = self._attached or self._attach(self._session)
        return self._attached

    def _with_functions(self, text: str) -> str:
        """Rewrite calls of catalog functions over columns to functions of the session, and register these."""
        if not calls_functions(text):
            return hide_session_functions(text) if self._has_functions else text
        rewritten, names = rewrite_calls(text, self._context(self._catalogs()))
        if names:
            check_not_in_definition(text, called_function(names[0]))
            register_functions(SparkSession(self.jvm.context, self._session), names)
            self._has_functions = True
        return rewritten

    def _check(self, rewritten: Rewritten) -> None:
        if rewritten.has_parameters:
            raise UnsupportedError(
                "Parameters (? and :name) are not offered in this statement of Paimon.",
                remedy="Write the values into the statement.",
            )
        if rewritten.spark_sql is not None:
            # Parsed only for errors in carried expressions: raised now, with their position, before anything runs.
            plain = rewritten.spark_sql
            self._with_declared_errors(lambda: self._delegate.parsePlan(plain))

    def _context(self, attached: AttachedSession) -> RewriteContext:
        manager = self._session.sessionState().catalogManager()
        ours = frozenset(attached.catalogs)
        known = frozenset(self.jvm.items(manager.listCatalogs(self.jvm.none)))
        return RewriteContext(
            current_catalog=manager.currentCatalog().name(),
            current_database=".".join(manager.currentNamespace()),
            catalogs=ours,
            other_catalogs=known - ours,
            shared_catalogs=ours & {SESSION_CATALOG},
            default_provider=self._session.conf().get("spark.sql.sources.default"),
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
        )

    def _merges_schema(self, table: TableName) -> bool:
        """Whether the session's options enable schema merging for a table."""
        if len(table) != 3:
            return False
        identifier = parse_identifier(table[1], table[2])
        given = session_options(self.jvm, self._session, table[0], identifier)
        return given.get(WRITE_MERGE_SCHEMA.key, "").lower() == "true"

    def _hive_columns(self, attached: AttachedSession, table: TableName) -> tuple[str, ...]:
        """The columns of a table if the session's options enable Hive-style dynamic partitions; otherwise empty."""
        found = _open(attached, table)
        if found is None:
            return ()
        given = session_options(self.jvm, self._session, table[0], parse_identifier(table[1], table[2]))
        enabled = given.get(WRITE_HIVE_STYLE_DYNAMIC_PARTITION_ENABLED.key, "").lower() == "true"
        return found.schema.names if enabled else ()

    def _query_columns(self, query: str) -> tuple[str, ...]:
        """The names of a query's columns in lower case; empty if it is invalid, which the statement itself reports."""
        mode = self.jvm.singleton(f"{EXECUTION}.CommandExecutionMode").SKIP()
        try:
            plan = self._session.sessionState().executePlan(self._delegate.parsePlan(query), mode).analyzed()
        except (Py4JJavaError, PySparkException):
            return ()
        return tuple(str(attribute.name()).lower() for attribute in self.jvm.items(plan.output()))

    class Java:
        implements = [f"{CATALYST}.parser.ParserInterface"]


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


class ParserBuilder(JavaObject):
    """A function from a session and its parser to our parser, for ``SparkSessionExtensions.injectParser``."""

    MARK = "paimon-sql parser builder"

    def __init__(self, jvm: Jvm, attach: Attach) -> None:
        super().__init__(jvm)
        self._attach = attach

    def toString(self) -> str:
        return self.MARK

    def apply(self, session: Any, delegate: Any) -> ParserProxy:
        return ParserProxy(self.jvm, self._attach, session, delegate)

    class Java:
        implements = ["scala.Function2"]


def _quoted_system_table(text: str) -> str:
    """A table's name with the part that contains ``$`` in backquotes, as ``spark.table("db.t$files")`` needs."""
    if "$" not in text or "`" in text:
        return text
    return ".".join(f"`{part}`" if "$" in part else part for part in text.split("."))
