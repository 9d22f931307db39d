"""A statement that changes rows, analysed: the query for the rows that it changes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError
from paimon_sql.format.row_kind import RowKind
from paimon_sql.format.special_fields import VALUE_KIND
from paimon_sql.spark.analysis_rules import RELATION
from paimon_sql.spark.java import CATALOG, CATALYST, EXECUTION, Jvm, private_field
from paimon_sql.spark.row_level.hidden_attributes import hidden_attributes_rule
from paimon_sql.spark.row_level.target import TargetProxy
from paimon_sql.sql.names import quote_name
from paimon_sql.storage.read.hidden_columns import hidden_fields

_PLANS = f"{CATALYST}.plans.logical"
_OPERATION, _BEFORE = "__row_operation", "__original_row_id_"
_GROUP_FILTER = "spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled"
_RULES = "extendedResolutionRules"
_REWRITES = ("ResolveRowLevelCommandAssignments", "RewriteUpdateTable", "RewriteMergeIntoTable")
_EXCHANGED = threading.RLock()
"""Held while a session's rules are others: statements of several threads would bring back what was no longer so."""
_DELETE, _UPDATE = 1, 2
"""What Spark writes into the column of operations; all else is an insert."""


@dataclass(frozen=True)
class ChangedRows:
    """The rows that a statement changes.

    Attributes:
        frame: the table's columns, then the columns of the row's id, then its kind in a column ``_VALUE_KIND``. A row
            that is deleted has its old values, also where only hidden columns are its id.
        id_before: by column of the row's id that the statement sets, the name of the column with its old value.
    """

    frame: DataFrame
    id_before: dict[str, str]


class Analyzer:
    """Analyses statements of one session.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        catalog: the name of the catalog whose tables they change.
    """

    def __init__(self, jvm: Jvm, session: Any, catalog: str) -> None:
        self.jvm = jvm
        self.catalog = catalog
        self.session = session
        self.spark = SparkSession(jvm.context, session)

    def parse(self, text: str) -> Any:
        """The statement as Spark's parser reads it."""
        return self.jvm.new(f"{EXECUTION}.SparkSqlParser").parsePlan(text)

    def changes(self, parsed: Any, identifier: Identifier, target: TargetProxy) -> Any:
        """The plan of changes that Spark makes of a parsed statement on that table.

        It is a ``WriteDelta``, or for a MERGE that only inserts an append.

        Args:
            parsed: an UPDATE, DELETE or MERGE, perhaps with common table expressions round it.
            identifier: the table's name, by which expressions may call its columns.
            target: the table.

        Raises:
            InvalidInputError: Spark refuses the statement; the message tells where in its text.
        """
        jvm = self.jvm
        around = parsed if parsed.getClass().getSimpleName() == "UnresolvedWith" else None
        command = around.child() if around is not None else parsed
        children = jvm.items(command.children())
        plan = command.withNewChildren(jvm.seq([self._relation(children[0], identifier, target), *children[1:]]))
        if around is not None:
            plan = around.withNewChildren(jvm.seq([plan]))
        # The statement is analysed and never run: what a command would do when it is planned does not happen.
        mode = jvm.singleton(f"{EXECUTION}.CommandExecutionMode").SKIP()
        try:
            with self._without_group_filter(command), self._rewritten_at_once():
                return self.session.sessionState().executePlan(plan, mode).analyzed()
        except AnalysisException as error:
            # A procedure may not throw Spark's own exception, and the plan that it shows is not what was written.
            told = str(error).split(";\n", 1)[0]
            raise InvalidInputError(told.replace("table ``", f"table `{target.table.name}`")) from None

    def rows(self, changes: Any, target: TargetProxy, row_id: tuple[str, ...]) -> ChangedRows:
        """The rows of a plan of changes."""
        query = changes.query()
        names = target.table.schema.names
        if changes.getClass().getSimpleName() != "WriteDelta":  # a MERGE that only inserts
            types = {f.name: f.type.as_nullable().sql() for f in hidden_fields(target.table.schema)}
            absent = [f"CAST(NULL AS {types[c]}) {c}" for c in row_id if c not in names]
            kind = f"CAST({int(RowKind.INSERT)} AS TINYINT) {VALUE_KIND.name}"
            return ChangedRows(self.frame(query).selectExpr("*", *absent, kind), {})
        if changes.operation().command().toString() == "DELETE":
            # Spark asks only for the id of rows that go; below stand all of their columns.
            rows = self.frame(query.child())
            hidden = [c for c in row_id if c not in names]
            frame = rows.select(*(quote_name(c) for c in (*names, *hidden)))
            return ChangedRows(frame.selectExpr("*", f"CAST({int(RowKind.DELETE)} AS TINYINT) {VALUE_KIND.name}"), {})
        rows = self.frame(self._with_old_values(query, names))
        columns = rows.columns
        before = {c.removeprefix(_BEFORE): c for c in columns if c.startswith(_BEFORE)}
        kind = (
            f"CAST(CASE {_OPERATION} WHEN {_DELETE} THEN {int(RowKind.DELETE)} WHEN {_UPDATE} THEN"
            f" {int(RowKind.UPDATE_AFTER)} ELSE {int(RowKind.INSERT)} END AS TINYINT) {VALUE_KIND.name}"
        )
        kept = (quote_name(c) for c in columns[1:] if c not in target.named)
        return ChangedRows(rows.selectExpr(*kept, kind), before)

    def frame(self, plan: Any) -> DataFrame:
        """A plan as a DataFrame."""
        dataset = self.jvm.cls("org.apache.spark.sql.classic.Dataset").ofRows(self.session, plan)
        return DataFrame(dataset, self.spark)

    @contextmanager
    def _without_group_filter(self, command: Any) -> Iterator[None]:
        """Let Spark leave out what only its own writers of a MERGE use, and which knows no hidden columns."""
        if command.getClass().getSimpleName() != "MergeIntoTable":
            yield
            return
        conf = self.session.sessionState().conf()
        was = str(conf.getConfString(_GROUP_FILTER)) if conf.contains(_GROUP_FILTER) else None
        conf.setConfString(_GROUP_FILTER, "false")
        try:
            yield
        finally:
            if was is None:
                conf.unsetConf(_GROUP_FILTER)
            else:
                conf.setConfString(_GROUP_FILTER, was)

    @contextmanager
    def _rewritten_at_once(self) -> Iterator[None]:
        """Let Spark rewrite the statement in the round of its analysis that finds the types of its values.

        The next round would make the hidden columns that the statement names columns of the target, and then miss
        assignments for them. Spark's own rules do nothing twice.
        """
        jvm = self.jvm
        analyzer = self.session.sessionState().analyzer()
        kind = analyzer.getClass().getName()
        field = jvm.constant(f"{_RULES} of {kind}", lambda: private_field(analyzer, _RULES)[0])
        rewrites = [jvm.singleton(f"{CATALYST}.analysis.{name}") for name in _REWRITES]
        with _EXCHANGED:
            rules = field.get(analyzer)
            field.set(analyzer, jvm.seq([*jvm.items(rules), *rewrites, hidden_attributes_rule(jvm)]))
            try:
                yield
            finally:
                field.set(analyzer, rules)

    def _relation(self, written: Any, identifier: Identifier, target: TargetProxy) -> Any:
        """The target in the place of its name, under its alias."""
        jvm = self.jvm
        catalog = self.session.sessionState().catalogManager().catalog(self.catalog)
        ident = jvm.cls(f"{CATALOG}.Identifier").of(jvm.strings([identifier.database]), identifier.object_name)
        relation = jvm.cls(RELATION).create(target, jvm.some(catalog), jvm.some(ident))
        places = jvm.seq([self.catalog, identifier.database])
        alias = jvm.new(f"{CATALYST}.AliasIdentifier", identifier.object_name, places)
        named = jvm.new(f"{_PLANS}.SubqueryAlias", alias, relation)
        if written.getClass().getSimpleName() != "SubqueryAlias":
            return named
        return jvm.new(f"{_PLANS}.SubqueryAlias", written.identifier(), named)

    def _with_old_values(self, query: Any, names: tuple[str, ...]) -> Any:
        """A MERGE whose deletes give the old values of all columns, where Spark gives the row's id and nulls."""
        if query.getClass().getSimpleName() != "MergeRows":
            return query
        join = query.child()
        by_name = {a.name(): a for side in self.jvm.items(join.children())[:1] for a in self.jvm.items(side.output())}
        old = [by_name[name] for name in names]
        matched = self._keeping(query.matchedInstructions(), old)
        unmatched = self._keeping(query.notMatchedBySourceInstructions(), old)
        return query.copy(
            query.isSourceRowPresent(),
            query.isTargetRowPresent(),
            matched,
            query.notMatchedInstructions(),
            unmatched,
            query.checkCardinality(),
            query.output(),
            join,
        )

    def _keeping(self, instructions: Any, old: list[Any]) -> Any:
        kept = []
        for instruction in self.jvm.items(instructions):
            parts = self.jvm.items(instruction.children())
            if len(parts) > len(old) and parts[1].sql() == str(_DELETE):
                parts = [*parts[:2], *old, *parts[2 + len(old) :]]
                instruction = instruction.withNewChildren(self.jvm.seq(parts))
            kept.append(instruction)
        return self.jvm.seq(kept)
