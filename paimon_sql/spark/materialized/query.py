"""Query of a materialized table: its qualified names, its sources, and whether it can be refreshed incrementally.

Analysis resolves each source table to a proxy, which Spark asks for a scan only at execution. Until then the proxy's
table can be replaced by another state of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import DataType, StructType

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, InvalidSchemaError, NoSuchDatabaseError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations.scan import INCREMENTAL_BETWEEN, INCREMENTAL_BETWEEN_SCAN_MODE
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.spark.conversion.types import row_struct
from paimon_sql.spark.java.catalyst import LogicalPlan
from paimon_sql.spark.java.objects import JavaObject, Seq
from paimon_sql.spark.jvm.errors import one_error
from paimon_sql.spark.jvm.gateway import CATALYST, EXPRESSIONS, private_field
from paimon_sql.spark.jvm.proxy import python_object
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.tables.data_table import TableProxy
from paimon_sql.sql.context import SESSION_CATALOG
from paimon_sql.sql.edits import Edit, apply
from paimon_sql.sql.functions import NameLocations, calls_in
from paimon_sql.sql.text.names import quote_name, quote_path
from paimon_sql.storage.materialized.refresh import SourceState
from paimon_sql.storage.scan.pinned import pinned
from paimon_sql.storage.scan.read_state import Comparison, RowChange, compared, is_tracked, state_of
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import DELTA

_PATTERNS = f"{CATALYST}.trees.TreePattern"
_RELATION, _VIEW, _TABLE_FUNCTION = "DataSourceV2Relation", "View", "SQLFunctionNode"
_CONSTANTS = ("LocalRelation", "OneRowRelation", "Range", "CTERelationRef")
_ROW_BY_ROW = frozenset({"Project", "Filter", "SubqueryAlias", "View", "Generate", "Union", _RELATION})
"""Plan nodes whose output for new input rows is exactly their new output rows."""


class AnalyzedQuery:
    """A query, analyzed in a session.

    Args:
        session: the session.
        text: the query.
        name: the materialized table, for messages.

    Attributes:
        frame: the rows.
        changes_by_itself: whether it is nondeterministic or depends on the current time.
        untracked: a source whose changes cannot be detected; None without any.
        source_names: the tables that it reads, including those in views.

    Raises:
        InvalidInputError: Spark refuses the query.
    """

    def __init__(self, session: JvmSession, text: str, name: str) -> None:
        self._jvm = jvm = session.jvm
        self._session = session
        with one_error(f"The query of {name} cannot be analyzed"):
            self.frame: DataFrame = session.frame(session.parsed(text))
            plan: LogicalPlan = self.frame._jdf.queryExecution().analyzed()
        patterns = jvm.singleton(_PATTERNS)
        self.changes_by_itself = not plan.deterministic() or bool(plan.containsPattern(patterns.CURRENT_LIKE()))
        self.untracked: str | None = None
        # The tables by position in the query: the proxy, and its original table, before a state of it was chosen.
        self._sources: list[tuple[TableProxy, Table]] = []
        self._pinned: dict[tuple[str, str], Snapshot | None] = {}
        self.source_names: set[str] = set()
        if plan.containsPattern(patterns.SQL_SCALAR_FUNCTION()):
            self.untracked = "a SQL function"
        self._views: set[str] = set()
        self._is_row_by_row = not plan.containsPattern(patterns.PLAN_EXPRESSION())
        self._folded: Callable[[str], str] = str if session.case_sensitive else str.lower
        self._inspect(plan)

    def _inspect(self, plan: LogicalPlan) -> None:
        nodes = [plan]
        while nodes:
            node = nodes.pop()
            kind = node.getClass().getSimpleName()
            children = self._jvm.items(node.children())
            self._is_row_by_row = self._is_row_by_row and kind in _ROW_BY_ROW
            if kind == _RELATION:
                self._add_source(node)
            elif kind == _VIEW:
                self._views.add(f"{node.desc().qualifiedName()}\0{node.desc().viewText().get()}")
            elif kind == _TABLE_FUNCTION:
                self.untracked = self.untracked or "a SQL function"
            elif not children and kind not in _CONSTANTS:
                self.untracked = self.untracked or str(node.simpleString(1)).strip()[:80]
            nodes += [*children, *self._jvm.items(node.subqueries())]

    def _add_source(self, relation: LogicalPlan) -> None:
        proxy = python_object(self._jvm, relation.table())
        name = str(relation.table().name())
        if isinstance(proxy, TableProxy):
            self.source_names.add(name)
        if isinstance(proxy, TableProxy) and self._is_plain(relation, proxy):
            if proxy.is_planned:
                proxy = self._unshared(relation, proxy)
            self._sources.append((proxy, proxy.table))
        else:
            self.untracked = self.untracked or name

    def _is_plain(self, relation: LogicalPlan, proxy: TableProxy) -> bool:
        """Whether a relation reads a table whose snapshots show its changes, without options and metadata columns."""
        if type(proxy) is not TableProxy or not relation.options().isEmpty() or not is_tracked(proxy.table):
            return False
        return self._jvm.as_list(relation.output()).size() <= len(proxy.table.schema.fields)

    def _unshared(self, relation: LogicalPlan, shared: TableProxy) -> TableProxy:
        """Replace the proxy in the relation by a new one of this query, since Spark shares cached ones."""
        own = TableProxy(self._session, shared.table.reopened())
        private_field(relation, "table")[0].set(relation, own)
        return own

    @property
    def views(self) -> str:
        """The digest of the views that it reads, to detect replaced ones; empty without any."""
        definitions = "\0".join(sorted(self._views))
        return hashlib.sha256(definitions.encode()).hexdigest()[:16] if definitions else ""

    def pin(self) -> tuple[SourceState, ...]:
        """Pin all source tables to their latest snapshots; return their distinct states, sorted by name."""
        states: dict[tuple[str, str], SourceState] = {}
        for proxy, table in self._sources:
            key = (table.name, table.branch)
            if key not in states:
                self._pinned[key] = table.snapshots.latest()
            states[key] = state_of(table, self._pinned[key])
            proxy.read_as(pinned(table, self._pinned[key]))
        return tuple(states[key] for key in sorted(states))

    def since(self, before: Sequence[SourceState]) -> list[Comparison]:
        """The change of each pinned table since an earlier state, which has the same tables in the order of `pin`."""
        tables = {(table.name, table.branch): table for _, table in self._sources}
        keys = sorted(self._pinned)
        return [compared(tables[k], self._pinned[k], b) for k, b in zip(keys, before, strict=True)]

    def takes_rows_alone(self, found: Sequence[Comparison]) -> bool:
        """Whether the query's result for new source rows is exactly its new rows, regardless of the existing rows."""
        return self._is_row_by_row and bool(self._sources) and not any(one.since is RowChange.CHANGED for one in found)

    def narrow(self, now: Sequence[SourceState], before: Sequence[SourceState]) -> None:
        """Restrict all source tables to the rows added between two states."""
        ranges = {(n.table, n.branch): f"{b.snapshot},{n.snapshot}" for n, b in zip(now, before, strict=True)}
        for proxy, table in self._sources:
            given = {
                INCREMENTAL_BETWEEN.key: ranges[table.name, table.branch],
                INCREMENTAL_BETWEEN_SCAN_MODE.key: DELTA,
            }
            proxy.read_as(table.with_options(given))

    def rows_of(self, schema: TableSchema, name: str) -> DataFrame:
        """The rows in the columns of the materialized table, matched by name; other columns of the query are dropped.

        Args:
            schema: the table's schema.
            name: the table's name.

        Raises:
            InvalidSchemaError: a column is missing in the query, or its type cannot be converted to the table's.
        """
        given = {self._folded(field.name): field for field in self.frame.schema.fields}
        fields = StructType.fromJson(row_struct(schema.fields)).fields
        columns: list[Column] = []
        for field in fields:
            found = given.get(self._folded(field.name))
            if found is None:
                raise InvalidSchemaError(
                    f"The query of {name} no longer returns column {field.name}.",
                    remedy="Use ALTER MATERIALIZED TABLE .. AS to set a query that does.",
                )
            column = f.col(quote_name(found.name))
            if found.dataType.simpleString() != field.dataType.simpleString():
                if not self._can_convert(found.dataType, field.dataType):
                    raise InvalidSchemaError(
                        f"The query of {name} returns column {field.name} as {found.dataType.simpleString()} instead of"
                        f" {field.dataType.simpleString()}.",
                        remedy="CAST it by ALTER MATERIALIZED TABLE .. AS.",
                    )
                column = column.cast(field.dataType)
            columns.append(column.alias(field.name))
        return self.frame.select(*columns)

    def _can_convert(self, found: DataType, target: DataType) -> bool:
        cast = self._jvm.singleton(f"{EXPRESSIONS}.Cast")
        return bool(cast.canANSIStoreAssign(self._jvm.struct(found.jsonValue()), self._jvm.struct(target.jsonValue())))


_REGISTRIES = f"{CATALYST}.analysis"
_UNRESOLVED, _TRAVEL, _WITH = "UnresolvedRelation", "RelationTimeTravel", "UnresolvedWith"


class QualifiedNames:
    """Qualifies the names of tables, views and functions in queries.

    Args:
        session: the session that resolves the names.
        catalog: the catalog whose functions are looked up.
    """

    def __init__(self, session: JvmSession, catalog: Catalog) -> None:
        jvm = session.jvm
        self._jvm = jvm
        self._catalog = catalog
        self._state = session.state
        manager = self._state.catalogManager()
        self._current = str(manager.currentCatalog().name())
        self._database = tuple(str(part) for part in manager.currentNamespace())
        self._catalogs = set(jvm.items(manager.listCatalogs(jvm.none)))
        self._builtin_functions: tuple[JavaObject, ...] = (
            jvm.singleton(f"{_REGISTRIES}.FunctionRegistry").expressions(),
            jvm.singleton(f"{_REGISTRIES}.TableFunctionRegistry").logicalPlans(),
        )
        temporary: Seq[JavaObject] = self._state.catalog().listTemporaryFunctions()
        self._temporary_functions = {str(function.funcName()).lower() for function in jvm.items(temporary)}

    def of(self, text: str, plan: LogicalPlan) -> str:
        """Qualify the names of a query; the rest of its text is unchanged.

        Args:
            text: the query.
            plan: the query as parsed by Spark.

        Raises:
            InvalidInputError: it refers to a temporary view or function, which only this session has.
        """
        locations = NameLocations(text)
        edits: dict[int, Edit] = {}
        for node in self._relations(plan):
            parts = [str(part) for part in self._jvm.items(node.multipartIdentifier())]
            start = node.origin().startIndex()
            location = locations.at(int(start.get())) if start.isDefined() else None
            if location is None or list(location.parts) != parts:
                raise InvalidInputError(
                    f"The query refers to {'.'.join(parts)} indirectly.", remedy="Write the table name literally."
                )
            if not location.is_common_table:
                edits[location.start] = Edit(location.start, location.end, self._table(parts))
        for call in calls_in(text):
            qualified = self._function(call.name)
            if qualified is not None:
                edits[call.start] = Edit(call.start, call.end, qualified)
        return apply(text, edits.values()).strip()

    def _relations(self, plan: LogicalPlan) -> list[LogicalPlan]:
        """All relations of a parsed plan, including subqueries and common table expressions."""
        found: list[LogicalPlan] = []
        nodes = [plan]
        while nodes:
            node = nodes.pop()
            kind = node.getClass().getSimpleName()
            if kind == _UNRESOLVED:
                found.append(node)
            elif kind == _TRAVEL:
                nodes.append(node.relation())
            elif kind == _WITH:
                nodes += self._jvm.items(node.innerChildren())
            nodes += [*self._jvm.items(node.children()), *self._jvm.items(node.subqueries())]
        return found

    def _table(self, parts: list[str]) -> str:
        if self._state.catalog().isTempView(self._jvm.seq(parts)):
            raise InvalidInputError(
                f"{'.'.join(parts)} is a temporary view, which exists only in this session.",
                remedy="Create a view in the catalog, or write its query as a common table expression.",
            )
        if len(parts) == 1:
            return quote_path([self._current, *self._database, *parts])
        if parts[0] in self._catalogs or len(parts) > 2 or not self._has_database(parts[0]):
            return quote_path(parts)
        return quote_path([self._current, *parts])

    def _has_database(self, name: str) -> bool:
        """Whether the current catalog has a database; otherwise the name may be a format: parquet.`/path`."""
        is_own = self._current == self._catalog.name
        if is_own and (self._catalog.database_exists(name) or name.lower() == "sys"):
            return True
        if self._current == SESSION_CATALOG:
            return bool(self._state.catalog().databaseExists(name))
        return not is_own

    def _function(self, name: tuple[str, ...]) -> str | None:
        """The qualified name of a function of the catalog; None if the name is another function's or is qualified."""
        if len(name) == 1:
            if name[0].lower() in self._temporary_functions:
                raise InvalidInputError(
                    f"{name[0]} is a temporary function, which exists only in this session.",
                    remedy="Create it in the catalog: CREATE FUNCTION.",
                )
            if any(known.contains(name[0].lower()) for known in self._builtin_functions):
                return None
        if self._current != self._catalog.name or len(name) > 2 or len(self._database) != 1:
            return None
        database = name[0] if len(name) == 2 else self._database[0]
        try:
            stored = self._catalog.function_name(Identifier(database, name[-1]))
        except NoSuchDatabaseError:
            return None
        return None if stored is None else quote_path([self._current, database, name[-1]])
