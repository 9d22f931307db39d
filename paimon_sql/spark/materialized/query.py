"""The query of a materialized table, analysed: what it reads, and what can be said of it without running it.

Analysis gives each table that is read an object of ours, which Spark asks for a scan only when rows are wanted. Until
then it can be told which state of the table to read.
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
from paimon_sql.format.options.scan import INCREMENTAL_BETWEEN, INCREMENTAL_BETWEEN_SCAN_MODE
from paimon_sql.format.schema import TableSchema
from paimon_sql.spark.copy_into.failures import one_error
from paimon_sql.spark.java import CATALYST, Jvm, behind, private_field
from paimon_sql.spark.row_level.analysis import Analyzer
from paimon_sql.spark.row_level.run import pinned
from paimon_sql.spark.table import TableProxy
from paimon_sql.spark.types import row_struct
from paimon_sql.sql.names import quote_name
from paimon_sql.storage.materialized.sources import Compared, Since, compared, is_tracked, state_of
from paimon_sql.storage.materialized.state import SourceState
from paimon_sql.storage.span import DELTA
from paimon_sql.storage.table import Table

_PATTERNS = f"{CATALYST}.trees.TreePattern"
_RELATION, _VIEW, _TABLE_FUNCTION = "DataSourceV2Relation", "View", "SQLFunctionNode"
_CONSTANTS = ("LocalRelation", "OneRowRelation", "Range", "CTERelationRef")
_ROW_BY_ROW = frozenset({"Project", "Filter", "SubqueryAlias", "View", "Generate", "Union", _RELATION})
"""Nodes of plans whose rows for new rows are their new rows."""


@dataclass
class _Source:
    """A table as a query reads it in one place: what Spark asks, and the table as it was before anything was said."""

    proxy: TableProxy
    table: Table


class AnalysedQuery:
    """A query in a session.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        catalog: the name of the catalog of the materialized table.
        text: the query.
        name: the materialized table, for messages.

    Attributes:
        frame: its rows.
        changes_by_itself: it may give other rows of the same tables, as by chance or by the clock.
        untracked: what it reads of which nobody can tell whether it has changed; None if there is nothing.
        source_names: the tables that it reads, also those below views.

    Raises:
        InvalidInputError: Spark refuses it.
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
        self._exact = bool(session.sessionState().conf().caseSensitiveAnalysis())
        self._look_at(plan)

    def _look_at(self, plan: Any) -> None:
        nodes = [plan]
        while nodes:
            node = nodes.pop()
            kind = str(node.getClass().getSimpleName())
            children = self._jvm.items(node.children())
            self._is_row_by_row = self._is_row_by_row and kind in _ROW_BY_ROW
            if kind == _RELATION:
                self._take(node)
            elif kind == _VIEW:
                self._views.add(f"{node.desc().qualifiedName()}\0{node.desc().viewText().get()}")
            elif kind == _TABLE_FUNCTION:
                self.untracked = self.untracked or "a function of SQL"
            elif not children and kind not in _CONSTANTS:
                self.untracked = self.untracked or str(node.simpleString(1)).strip()[:80]
            nodes += [*children, *self._jvm.items(node.subqueries())]

    def _take(self, relation: Any) -> None:
        proxy = behind(self._jvm, relation.table())
        told = str(relation.table().name())
        if isinstance(proxy, TableProxy):
            self.source_names.add(told)
        plain = type(proxy) is TableProxy and relation.options().isEmpty() and is_tracked(proxy.table)
        hidden = self._jvm.as_java(relation.output()).size() > len(proxy.table.schema.fields) if plain else True
        if plain and not hidden:
            if proxy.is_planned:
                proxy = self._of_its_own(relation, proxy)
            self._sources.append(_Source(proxy, proxy.table))
        else:
            self.untracked = self.untracked or told

    def _of_its_own(self, relation: Any, shared: TableProxy) -> TableProxy:
        """A table for this query alone, in the place of one that Spark took from what it caches."""
        own = TableProxy(self._jvm, replace(shared.table), self._session)
        private_field(relation, "table")[0].set(relation, own)
        return own

    @property
    def views(self) -> str:
        """The digest of the views that it reads, which may be replaced by others; empty without any."""
        told = "\0".join(sorted(self._views))
        return hashlib.sha256(told.encode()).hexdigest()[:16] if told else ""

    def pin(self) -> tuple[SourceState, ...]:
        """Let all tables be read as they are now; their states, each once."""
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

    def since(self, now: Sequence[SourceState], before: Sequence[SourceState]) -> list[Compared]:
        """What has become of each table between two states of all of them, which are of the same tables."""
        tables = {(s.table.name, s.table.branch): s.table for s in self._sources}
        return [compared(tables[n.table, n.branch], n, b) for n, b in zip(now, before, strict=True)]

    def takes_rows_alone(self, found: Sequence[Compared]) -> bool:
        """Whether the query's rows for the new rows of its tables are its new rows, whatever rows there were."""
        return self._is_row_by_row and bool(self._sources) and not any(one.since is Since.CHANGED for one in found)

    def narrow(self, now: Sequence[SourceState], before: Sequence[SourceState]) -> None:
        """Let all tables be read for what was added between two states alone."""
        spans = {(n.table, n.branch): f"{b.snapshot},{n.snapshot}" for n, b in zip(now, before, strict=True)}
        for source in self._sources:
            table = source.table
            given = {
                INCREMENTAL_BETWEEN.key: spans[table.name, table.branch],
                INCREMENTAL_BETWEEN_SCAN_MODE.key: DELTA,
            }
            options = {**table.schema.options, **given}
            source.proxy.table = replace(table, schema=replace(table.schema, options=options))

    def rows_of(self, schema: TableSchema, name: str) -> DataFrame:
        """The rows in the columns of the materialized table, which are found by their names.

        Columns that the query has gained since are left out.

        Args:
            schema: the table's schema.
            name: its name.

        Raises:
            InvalidSchemaError: the query gives one of its columns no more, or in a type that cannot become the table's.
        """
        given = {self._folded(field.name): field for field in self.frame.schema.fields}
        wanted = StructType.fromJson(row_struct(schema.fields)).fields
        columns: list[Column] = []
        for field in wanted:
            found = given.get(self._folded(field.name))
            if found is None:
                raise InvalidSchemaError(
                    f"The query of {name} gives column {field.name} no more.",
                    remedy="ALTER MATERIALIZED TABLE .. AS a query that does.",
                )
            column = f.col(quote_name(found.name))
            if found.dataType.simpleString() != field.dataType.simpleString():
                if not self._can_become(found.dataType, field.dataType):
                    raise InvalidSchemaError(
                        f"The query of {name} gives column {field.name} as {found.dataType.simpleString()}, and not as"
                        f" {field.dataType.simpleString()} any more.",
                        remedy="CAST it: ALTER MATERIALIZED TABLE .. AS.",
                    )
                column = column.cast(field.dataType)
            columns.append(column.alias(field.name))
        return self.frame.select(*columns)

    def _can_become(self, found: Any, wanted: Any) -> bool:
        cast = self._jvm.singleton(f"{CATALYST}.expressions.Cast")
        return bool(cast.canANSIStoreAssign(self._jvm.struct(found.json()), self._jvm.struct(wanted.json())))

    def _folded(self, name: str) -> str:
        return name if self._exact else name.lower()
