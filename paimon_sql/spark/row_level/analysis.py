"""Analysis of row-level statements: the query for the rows that a statement changes."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.row_kind import RowKind
from paimon_sql.format.schema.system_fields import VALUE_KIND
from paimon_sql.spark.jvm.gateway import CATALOG, CATALYST, EXECUTION, Jvm, private_field
from paimon_sql.spark.row_level.target import TargetProxy
from paimon_sql.spark.rules.analyzer import RELATION
from paimon_sql.spark.rules.compiled_rule import NODE, compiled_rule
from paimon_sql.spark.rules.trees import transform_up, with_expressions
from paimon_sql.sql.text.names import quote_name
from paimon_sql.storage.read.metadata_columns import metadata_fields

_PLANS = f"{CATALYST}.plans.logical"

_WRITES_DELTA = (
    f"""
        private boolean matches({NODE} plan) {{
            if (plan instanceof {_PLANS}.WithCTE) return matches((({_PLANS}.WithCTE) plan).plan());
            return plan instanceof {_PLANS}.WriteDelta;
        }}""",
)


def hidden_attributes_rule(jvm: Jvm) -> Any:
    """The analysis rule that binds metadata columns in a plan of changes to those of its relation."""
    return jvm.constant(
        "rule for hidden columns",
        lambda: compiled_rule(
            jvm,
            "paimon.HiddenColumnRule",
            _WRITES_DELTA,
            lambda plan: transform_up(jvm, plan, partial(_bound, jvm)),
        ),
    )


def _bound(jvm: Jvm, plan: Any, children: Sequence[Any]) -> Any:
    missing = plan.missingInput()
    if missing.isEmpty():
        return plan
    # Spark adds the metadata columns of sources in the next round.
    offered = {int(a.exprId().id()) for child in children for a in jvm.items(child.metadataOutput())}
    lost = {int(a.exprId().id()) for a in jvm.items(missing.toSeq())} - offered
    by_name: dict[str, Any] = {}
    for child in children:  # the target is the left side of a join, so its columns win
        for attribute in jvm.items(child.output()):
            by_name.setdefault(str(attribute.name()), attribute)

    def bound(expression: Any) -> Any:
        if expression.getClass().getSimpleName() != "AttributeReference" or int(expression.exprId().id()) not in lost:
            return expression
        return by_name.get(str(expression.name()), expression)

    return with_expressions(jvm, plan, bound)


_OPERATION, _BEFORE = "__row_operation", "__original_row_id_"
_GROUP_FILTER = "spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled"
_RULES = "extendedResolutionRules"
_REWRITES = ("ResolveRowLevelCommandAssignments", "RewriteUpdateTable", "RewriteMergeIntoTable")
_RULES_LOCK = threading.RLock()
"""Held while a session's rules are replaced; otherwise concurrent statements would restore outdated rules."""
_DELETE, _UPDATE = 1, 2
"""Spark's values of the operation column; any other value is an insert (Spark: ``RowDeltaUtils``)."""


@dataclass(frozen=True)
class ChangedRows:
    """The rows that a statement changes.

    Attributes:
        frame: the table's columns, then the columns of the row id, then the row kind in a column ``_VALUE_KIND``. A
            deleted row has its old values, even if its id consists of metadata columns only.
        id_before: the name of the column with the old value, by column of the row id that the statement sets.
    """

    frame: DataFrame
    id_before: dict[str, str]


class Analyzer:
    """The analyzer of one session's row-level statements.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        catalog: the name of the catalog of the changed tables.
    """

    def __init__(self, jvm: Jvm, session: Any, catalog: str) -> None:
        self.jvm = jvm
        self.catalog = catalog
        self.session = session
        self.spark = SparkSession(jvm.context, session)

    def parse(self, text: str) -> Any:
        """The plan of a statement from Spark's own parser."""
        return self.jvm.new(f"{EXECUTION}.SparkSqlParser").parsePlan(text)

    def changes(self, parsed: Any, identifier: Identifier, target: TargetProxy) -> Any:
        """Return the plan of a parsed statement's changes: a ``WriteDelta``, or an append if a MERGE only inserts.

        Args:
            parsed: an UPDATE, DELETE or MERGE, optionally with common table expressions.
            identifier: the table's name, which may qualify columns in expressions.
            target: the table.

        Raises:
            InvalidInputError: Spark refuses the statement; the message has the position in its text.
        """
        jvm = self.jvm
        with_ctes = parsed if parsed.getClass().getSimpleName() == "UnresolvedWith" else None
        command = with_ctes.child() if with_ctes is not None else parsed
        children = jvm.items(command.children())
        plan = command.withNewChildren(jvm.seq([self._relation(children[0], identifier, target), *children[1:]]))
        if with_ctes is not None:
            plan = with_ctes.withNewChildren(jvm.seq([plan]))
        # SKIP: the statement is only analyzed; commands, which would otherwise run during planning, do not run.
        mode = jvm.singleton(f"{EXECUTION}.CommandExecutionMode").SKIP()
        try:
            with self._without_group_filter(command), self._rewritten_at_once():
                return self.session.sessionState().executePlan(plan, mode).analyzed()
        except AnalysisException as error:
            # A procedure must not throw Spark's checked exception; the plan in its message is not the user's statement.
            message = str(error).split(";\n", 1)[0]
            raise InvalidInputError(message.replace("table ``", f"table `{target.table.name}`")) from None

    def rows(self, changes: Any, target: TargetProxy, row_id: tuple[str, ...]) -> ChangedRows:
        """The rows of a plan of changes."""
        query = changes.query()
        names = target.table.schema.names
        if changes.getClass().getSimpleName() != "WriteDelta":  # a MERGE that only inserts
            types = {f.name: f.type.as_nullable().sql() for f in metadata_fields(target.table.schema)}
            absent = [f"CAST(NULL AS {types[c]}) {c}" for c in row_id if c not in names]
            kind = f"CAST({int(RowKind.INSERT)} AS TINYINT) {VALUE_KIND.name}"
            return ChangedRows(self.frame(query).selectExpr("*", *absent, kind), {})
        if changes.operation().command().toString() == "DELETE":
            # Spark projects only the id of deleted rows; the child has all of their columns.
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
        selected = (quote_name(c) for c in columns[1:] if c not in target.named)
        return ChangedRows(rows.selectExpr(*selected, kind), before)

    def frame(self, plan: Any) -> DataFrame:
        """A plan as a DataFrame."""
        dataset = self.jvm.cls("org.apache.spark.sql.classic.Dataset").ofRows(self.session, plan)
        return DataFrame(dataset, self.spark)

    @contextmanager
    def _without_group_filter(self, command: Any) -> Iterator[None]:
        """Disable Spark's runtime group filter of MERGE, which only its writers use; it ignores metadata columns."""
        if command.getClass().getSimpleName() != "MergeIntoTable":
            yield
            return
        conf = self.session.sessionState().conf()
        previous = str(conf.getConfString(_GROUP_FILTER)) if conf.contains(_GROUP_FILTER) else None
        conf.setConfString(_GROUP_FILTER, "false")
        try:
            yield
        finally:
            if previous is None:
                conf.unsetConf(_GROUP_FILTER)
            else:
                conf.setConfString(_GROUP_FILTER, previous)

    @contextmanager
    def _rewritten_at_once(self) -> Iterator[None]:
        """Let Spark rewrite the statement in the same analysis round that resolves its values.

        In the next round the metadata columns that the statement names would become columns of the target, and Spark
        would miss assignments for them. Spark's own rules are idempotent, so adding them twice is safe.
        """
        jvm = self.jvm
        analyzer = self.session.sessionState().analyzer()
        kind = analyzer.getClass().getName()
        field = jvm.constant(f"{_RULES} of {kind}", lambda: private_field(analyzer, _RULES)[0])
        rewrites = [jvm.singleton(f"{CATALYST}.analysis.{name}") for name in _REWRITES]
        with _RULES_LOCK:
            rules = field.get(analyzer)
            field.set(analyzer, jvm.seq([*jvm.items(rules), *rewrites, hidden_attributes_rule(jvm)]))
            try:
                yield
            finally:
                field.set(analyzer, rules)

    def _relation(self, written: Any, identifier: Identifier, target: TargetProxy) -> Any:
        """The target's relation with its alias, to replace the parsed name."""
        jvm = self.jvm
        catalog = self.session.sessionState().catalogManager().catalog(self.catalog)
        ident = jvm.cls(f"{CATALOG}.Identifier").of(jvm.strings([identifier.database]), identifier.object_name)
        relation = jvm.cls(RELATION).create(target, jvm.some(catalog), jvm.some(ident))
        qualifier = jvm.seq([self.catalog, identifier.database])
        alias = jvm.new(f"{CATALYST}.AliasIdentifier", identifier.object_name, qualifier)
        named = jvm.new(f"{_PLANS}.SubqueryAlias", alias, relation)
        if written.getClass().getSimpleName() != "SubqueryAlias":
            return named
        return jvm.new(f"{_PLANS}.SubqueryAlias", written.identifier(), named)

    def _with_old_values(self, query: Any, names: tuple[str, ...]) -> Any:
        """A MERGE whose deletes return the old values of all columns, where Spark returns the row id and nulls."""
        if query.getClass().getSimpleName() != "MergeRows":
            return query
        join = query.child()
        by_name = {a.name(): a for side in self.jvm.items(join.children())[:1] for a in self.jvm.items(side.output())}
        old = [by_name[name] for name in names]
        matched = self._with_values_of_deletes(query.matchedInstructions(), old)
        unmatched = self._with_values_of_deletes(query.notMatchedBySourceInstructions(), old)
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

    def _with_values_of_deletes(self, instructions: Any, old: list[Any]) -> Any:
        changed = []
        for instruction in self.jvm.items(instructions):
            parts = self.jvm.items(instruction.children())
            if len(parts) > len(old) and parts[1].sql() == str(_DELETE):
                parts = [*parts[:2], *old, *parts[2 + len(old) :]]
                instruction = instruction.withNewChildren(self.jvm.seq(parts))
            changed.append(instruction)
        return self.jvm.seq(changed)
