"""Analyzed query of a materialized table: its sources, and whether it can be refreshed incrementally.

Analysis resolves each source table to a proxy, which Spark asks for a scan only at execution. Until then the proxy's
table can be replaced by another state of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.options.operations.scan import INCREMENTAL_BETWEEN, INCREMENTAL_BETWEEN_SCAN_MODE
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.spark.conversion.types import row_struct
from paimon_sql.spark.copy_into.failures import one_error
from paimon_sql.spark.jvm.gateway import CATALYST, Jvm, private_field, python_object
from paimon_sql.spark.row_level.analysis import Analyzer
from paimon_sql.spark.row_level.run import pinned
from paimon_sql.spark.tables.data_table import TableProxy
from paimon_sql.sql.text.names import quote_name
from paimon_sql.storage.materialized.state import SourceState
from paimon_sql.storage.scan.query_sources import Comparison, RowChange, compared, is_tracked, state_of
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import DELTA

_PATTERNS = f"{CATALYST}.trees.TreePattern"
_RELATION, _VIEW, _TABLE_FUNCTION = "DataSourceV2Relation", "View", "SQLFunctionNode"
_CONSTANTS = ("LocalRelation", "OneRowRelation", "Range", "CTERelationRef")
_ROW_BY_ROW = frozenset({"Project", "Filter", "SubqueryAlias", "View", "Generate", "Union", _RELATION})
"""Plan nodes whose output for new input rows is exactly their new output rows."""


@dataclass
class _Source:
    """A table in one position of a query: its proxy, and its original table, before a state of it was chosen."""

    proxy: TableProxy
    table: Table


class AnalyzedQuery:
    """A query, analyzed in a session.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        catalog: the name of the catalog of the materialized table.
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

    def __init__(self, jvm: Jvm, session: Any, catalog: str, text: str, name: str) -> None:
        self._jvm = jvm
        self._session = session
        analyzer = Analyzer(jvm, session, catalog)
        with one_error(f"The query of {name} cannot be worked out"):
            self.frame: DataFrame = analyzer.frame(analyzer.parse(text))
            plan = self.frame._jdf.queryExecution().analyzed()
        patterns = jvm.singleton(_PATTERNS)
        self.changes_by_itself = not plan.deterministic() or bool(plan.containsPattern(patterns.CURRENT_LIKE()))
        self.untracked: str | None = None
        self._sources: list[_Source] = []
        self.source_names: set[str] = set()
        if plan.containsPattern(patterns.SQL_SCALAR_FUNCTION()):
            self.untracked = "a function of SQL"
        self._views: set[str] = set()
        self._is_row_by_row = not plan.containsPattern(patterns.PLAN_EXPRESSION())
        self._case_sensitive = bool(session.sessionState().conf().caseSensitiveAnalysis())
        self._inspect(plan)

    def _inspect(self, plan: Any) -> None:
        nodes = [plan]
        while nodes:
            node = nodes.pop()
            kind = str(node.getClass().getSimpleName())
            children = self._jvm.items(node.children())
            self._is_row_by_row = self._is_row_by_row and kind in _ROW_BY_ROW
            if kind == _RELATION:
                self._add_source(node)
            elif kind == _VIEW:
                self._views.add(f"{node.desc().qualifiedName()}\0{node.desc().viewText().get()}")
            elif kind == _TABLE_FUNCTION:
                self.untracked = self.untracked or "a function of SQL"
            elif not children and kind not in _CONSTANTS:
                self.untracked = self.untracked or str(node.simpleString(1)).strip()[:80]
            nodes += [*children, *self._jvm.items(node.subqueries())]

    def _add_source(self, relation: Any) -> None:
        proxy = python_object(self._jvm, relation.table())
        name = str(relation.table().name())
        if isinstance(proxy, TableProxy):
            self.source_names.add(name)
        plain = type(proxy) is TableProxy and relation.options().isEmpty() and is_tracked(proxy.table)
        hidden = self._jvm.as_java(relation.output()).size() > len(proxy.table.schema.fields) if plain else True
        if plain and not hidden:
            if proxy.is_planned:
                proxy = self._unshared(relation, proxy)
            self._sources.append(_Source(proxy, proxy.table))
        else:
            self.untracked = self.untracked or name

    def _unshared(self, relation: Any, shared: TableProxy) -> TableProxy:
        """Replace the proxy in the relation by a new one of this query, since Spark shares cached ones."""
        own = TableProxy(self._jvm, replace(shared.table), self._session)
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
        for source in self._sources:
            table = source.table
            key = (table.name, table.branch)
            latest = table.snapshots.latest() if key not in states else None
            if key in states:
                known = states[key].snapshot
                latest = table.snapshots.get(known) if known is not None else None
            states[key] = state_of(table, latest)
            source.proxy.table = pinned(table, latest)
        return tuple(states[key] for key in sorted(states))

    def since(self, now: Sequence[SourceState], before: Sequence[SourceState]) -> list[Comparison]:
        """The change of each table between two states; both have the same tables in the same order."""
        tables = {(s.table.name, s.table.branch): s.table for s in self._sources}
        return [compared(tables[n.table, n.branch], n, b) for n, b in zip(now, before, strict=True)]

    def takes_rows_alone(self, found: Sequence[Comparison]) -> bool:
        """Whether the query's result for new source rows is exactly its new rows, regardless of the existing rows."""
        return self._is_row_by_row and bool(self._sources) and not any(one.since is RowChange.CHANGED for one in found)

    def narrow(self, now: Sequence[SourceState], before: Sequence[SourceState]) -> None:
        """Restrict all source tables to the rows added between two states."""
        ranges = {(n.table, n.branch): f"{b.snapshot},{n.snapshot}" for n, b in zip(now, before, strict=True)}
        for source in self._sources:
            table = source.table
            given = {
                INCREMENTAL_BETWEEN.key: ranges[table.name, table.branch],
                INCREMENTAL_BETWEEN_SCAN_MODE.key: DELTA,
            }
            options = {**table.schema.options, **given}
            source.proxy.table = replace(table, schema=replace(table.schema, options=options))

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
                    f"The query of {name} gives column {field.name} no more.",
                    remedy="ALTER MATERIALIZED TABLE .. AS a query that does.",
                )
            column = f.col(quote_name(found.name))
            if found.dataType.simpleString() != field.dataType.simpleString():
                if not self._can_convert(found.dataType, field.dataType):
                    raise InvalidSchemaError(
                        f"The query of {name} gives column {field.name} as {found.dataType.simpleString()}, and not as"
                        f" {field.dataType.simpleString()} any more.",
                        remedy="CAST it: ALTER MATERIALIZED TABLE .. AS.",
                    )
                column = column.cast(field.dataType)
            columns.append(column.alias(field.name))
        return self.frame.select(*columns)

    def _can_convert(self, found: Any, target: Any) -> bool:
        cast = self._jvm.singleton(f"{CATALYST}.expressions.Cast")
        return bool(cast.canANSIStoreAssign(self._jvm.struct(found.json()), self._jvm.struct(target.json())))

    def _folded(self, name: str) -> str:
        return name if self._case_sensitive else name.lower()
