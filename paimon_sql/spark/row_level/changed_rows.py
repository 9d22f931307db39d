"""Rows that a row-level statement changes: the query for them, where they come from, and their counts."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import Enum
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.metadata.snapshot import Operation, Snapshot
from paimon_sql.format.schema.system_fields import VALUE_KIND, RowKind
from paimon_sql.process import share
from paimon_sql.spark.java.catalyst import Attribute, Expression, LogicalPlan
from paimon_sql.spark.java.objects import JavaObject, Seq
from paimon_sql.spark.jvm.errors import refusals
from paimon_sql.spark.jvm.gateway import CATALYST, PLANS, Jvm, private_field
from paimon_sql.spark.jvm.session import JvmSession, changed_settings
from paimon_sql.spark.row_level.target import TargetProxy, relation_of, without_ctes
from paimon_sql.spark.rules.compiled_rule import NODE, compiled_rule, transform_up, with_expressions
from paimon_sql.spark.rules.optimizer import with_parts
from paimon_sql.sql.text.names import quote_name
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.read.metadata_columns import metadata_fields
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class Counts:
    """Numbers of updated, deleted and inserted rows."""

    updated: int = 0
    deleted: int = 0
    inserted: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.updated + other.updated, self.deleted + other.deleted, self.inserted + other.inserted)

    @staticmethod
    def of(results: Iterable[WorkerResult]) -> Counts:
        """The counts of all workers."""
        return sum((result.counts for result in results), Counts())

    def named(self, operation: Operation) -> dict[str, int]:
        """The counts in the result of a statement, by column name."""
        found = {"num_affected_rows": self.updated + self.deleted + self.inserted}
        if operation is Operation.MERGE:
            found |= {f"num_{kind}_rows": count for kind, count in asdict(self).items()}
        return found


@dataclass(frozen=True)
class WorkerResult:
    """The result of one worker: the written files, the counts of rows, and the positions of deleted rows."""

    messages: list[CommitMessage]
    counts: Counts
    marks: Mapping[str, DeletionVector] = field(default_factory=dict)


class CountedRows:
    """Batches of changed rows, counted by row kind during iteration."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = batches
        self._kinds = np.zeros(4, dtype=np.int64)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            self._kinds += np.bincount(batch.column(VALUE_KIND.name).to_numpy(), minlength=4)
            yield batch

    @property
    def counts(self) -> Counts:
        """The counts of the rows iterated so far."""
        k = self._kinds
        return Counts(int(k[RowKind.UPDATE_AFTER]), int(k[RowKind.DELETE]), int(k[RowKind.INSERT]))


class Rows(Enum):
    """The rows of a scan that an optimized plan returns, besides computing columns."""

    ALL = "all of them"
    SOME = "some of them, each where it was read"
    OTHERS = "rows from elsewhere or in other places, as after a join"


def rows_of_scan(frame: DataFrame) -> Rows:
    """Return which rows of its scan a query returns."""
    plan, rows = frame._jdf.queryExecution().optimizedPlan(), Rows.ALL
    while (kind := plan.getClass().getSimpleName()) in ("Project", "Filter"):
        if kind == "Filter":
            rows = Rows.SOME
        plan = plan.child()
    return rows if kind == "DataSourceV2ScanRelation" else Rows.OTHERS


_WRITES_DELTA = (
    f"""
        private boolean matches({NODE} plan) {{
            if (plan instanceof {PLANS}.WithCTE) return matches((({PLANS}.WithCTE) plan).plan());
            return plan instanceof {PLANS}.WriteDelta;
        }}""",
)


def hidden_attributes_rule(jvm: Jvm) -> JavaObject:
    """The analysis rule that binds metadata columns in a plan of changes to those of its relation."""
    return jvm.constant(
        "rule for hidden columns",
        lambda: compiled_rule(
            jvm, "paimon.HiddenColumnRule", _WRITES_DELTA, lambda plan: transform_up(jvm, plan, partial(_bound, jvm))
        ),
    )


def _bound(jvm: Jvm, plan: LogicalPlan, children: Sequence[LogicalPlan]) -> LogicalPlan:
    missing = plan.missingInput()
    if missing.isEmpty():
        return plan
    # Spark adds the metadata columns of sources in the next round.
    offered = {a.exprId().id() for child in children for a in jvm.items(child.metadataOutput())}
    lost = {a.exprId().id() for a in jvm.items(missing.toSeq())} - offered
    by_name: dict[str, Attribute] = {}
    for child in children:  # the target is the left side of a join, so its columns win
        for attribute in jvm.items(child.output()):
            by_name.setdefault(attribute.name(), attribute)

    def bound(expression: Expression) -> Expression:
        if expression.getClass().getSimpleName() != "AttributeReference" or int(expression.exprId().id()) not in lost:
            return expression
        return by_name.get(str(expression.name()), expression)

    return with_expressions(jvm, plan, bound)


_OPERATION, _BEFORE = "__row_operation", "__original_row_id_"
_GROUP_FILTER = "spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled"
_RULES = "extendedResolutionRules"
_REWRITES = ("ResolveRowLevelCommandAssignments", "RewriteUpdateTable", "RewriteMergeIntoTable")
_rules_lock = share(threading.RLock)
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


@dataclass(frozen=True)
class RowChange:
    """A change of rows, to be written and committed by the strategy of the table.

    Attributes:
        jvm: the JVM.
        table: the table.
        base: the snapshot from which the rows were read.
        rows: the changed rows.
        operation: the kind of statement.
        target: the table from which the rows are read.
    """

    jvm: Jvm
    table: Table
    base: Snapshot | None
    rows: ChangedRows
    operation: Operation
    target: TargetProxy

    def transaction(self) -> Transaction:
        """A transaction of the statement."""
        return Transaction(self.table, self.operation, base=self.base)


@dataclass(frozen=True)
class Analyzer:
    """The analyzer of one session's row-level statements.

    Attributes:
        session: the session.
        catalog: the name of the catalog of the changed tables.
    """

    session: JvmSession
    catalog: str

    @property
    def jvm(self) -> Jvm:
        """The JVM."""
        return self.session.jvm

    def changes(self, parsed: LogicalPlan, identifier: Identifier, target: TargetProxy) -> LogicalPlan:
        """Return the plan of a parsed statement's changes: a ``WriteDelta``, or an append if a MERGE only inserts.

        Args:
            parsed: an UPDATE, DELETE or MERGE, optionally with common table expressions.
            identifier: the table's name, which may qualify columns in expressions.
            target: the table.

        Raises:
            InvalidInputError: Spark refuses the statement; the message has the position in its text.
        """
        jvm = self.jvm
        command, with_ctes = without_ctes(jvm, parsed)
        children = jvm.items(command.children())
        plan = command.withNewChildren(jvm.seq([self._relation(children[0], identifier, target), *children[1:]]))
        # Only Spark's writers use its runtime group filter of MERGE, which ignores metadata columns.
        settings = {_GROUP_FILTER: "false"} if command.getClass().getSimpleName() == "MergeIntoTable" else {}
        conf = self.session.state.conf()
        with refusals(target.table.name), changed_settings(conf, settings), self._rewritten_at_once():
            return self.session.execution(with_ctes(plan)).analyzed()

    def rows(self, changes: LogicalPlan, target: TargetProxy, row_id: tuple[str, ...]) -> ChangedRows:
        """The rows of a plan of changes."""
        query = changes.query()
        names = target.table.schema.names
        if changes.getClass().getSimpleName() != "WriteDelta":  # a MERGE that only inserts
            types = {f.name: f.type.as_nullable().sql() for f in metadata_fields(target.table.schema)}
            absent = [f"CAST(NULL AS {types[c]}) {c}" for c in row_id if c not in names]
            kind = f"CAST({int(RowKind.INSERT)} AS TINYINT) {VALUE_KIND.name}"
            return ChangedRows(self.session.frame(query).selectExpr("*", *absent, kind), {})
        if changes.operation().command().toString() == "DELETE":
            # Spark projects only the id of deleted rows; the child has all of their columns.
            rows = self.session.frame(query.child())
            hidden = [c for c in row_id if c not in names]
            frame = rows.select(*(quote_name(c) for c in (*names, *hidden)))
            return ChangedRows(frame.selectExpr("*", f"CAST({int(RowKind.DELETE)} AS TINYINT) {VALUE_KIND.name}"), {})
        rows = self.session.frame(self._with_old_values(query, names))
        columns = rows.columns
        before = {c.removeprefix(_BEFORE): c for c in columns if c.startswith(_BEFORE)}
        kind = (
            f"CAST(CASE {_OPERATION} WHEN {_DELETE} THEN {int(RowKind.DELETE)} WHEN {_UPDATE} THEN"
            f" {int(RowKind.UPDATE_AFTER)} ELSE {int(RowKind.INSERT)} END AS TINYINT) {VALUE_KIND.name}"
        )
        selected = (quote_name(c) for c in columns[1:] if c not in target.named)
        return ChangedRows(rows.selectExpr(*selected, kind), before)

    @contextmanager
    def _rewritten_at_once(self) -> Iterator[None]:
        """Let Spark rewrite the statement in the same analysis round that resolves its values.

        In the next round the metadata columns that the statement names would become columns of the target, and Spark
        would miss assignments for them. Spark's own rules are idempotent, so adding them twice is safe.
        """
        jvm = self.jvm
        analyzer = self.session.state.analyzer()
        kind = analyzer.getClass().getName()
        field = jvm.constant(f"{_RULES} of {kind}", lambda: private_field(analyzer, _RULES)[0])
        rewrites: list[JavaObject] = [jvm.singleton(f"{CATALYST}.analysis.{name}") for name in _REWRITES]
        with _rules_lock():
            rules: Seq[JavaObject] = field.get(analyzer)
            field.set(analyzer, jvm.seq([*jvm.items(rules), *rewrites, hidden_attributes_rule(jvm)]))
            try:
                yield
            finally:
                field.set(analyzer, rules)

    def _relation(self, written: LogicalPlan, identifier: Identifier, target: TargetProxy) -> LogicalPlan:
        """The target's relation with its alias, to replace the parsed name."""
        jvm = self.jvm
        relation = relation_of(target, self.catalog, identifier)
        qualifier = jvm.seq([self.catalog, identifier.database])
        alias = jvm.new(f"{CATALYST}.AliasIdentifier", identifier.object_name, qualifier)
        named: LogicalPlan = jvm.new(f"{PLANS}.SubqueryAlias", alias, relation)
        if written.getClass().getSimpleName() != "SubqueryAlias":
            return named
        return jvm.new(f"{PLANS}.SubqueryAlias", written.identifier(), named)

    def _with_old_values(self, query: LogicalPlan, names: tuple[str, ...]) -> LogicalPlan:
        """A MERGE whose deletes return the old values of all columns, where Spark returns the row id and nulls."""
        if query.getClass().getSimpleName() != "MergeRows":
            return query
        target = self.jvm.items(query.child().children())[0]
        by_name = {a.name(): a for a in self.jvm.items(target.output())}
        old = [by_name[name] for name in names]
        matched = self._with_values_of_deletes(query.matchedInstructions(), old)
        unmatched = self._with_values_of_deletes(query.notMatchedBySourceInstructions(), old)
        return with_parts(self.jvm, query, matchedInstructions=matched, notMatchedBySourceInstructions=unmatched)

    def _with_values_of_deletes(self, instructions: Seq[Expression], old: list[Attribute]) -> Seq[Expression]:
        changed = []
        for instruction in self.jvm.items(instructions):
            parts: list[Expression] = self.jvm.items(instruction.children())
            if len(parts) > len(old) and parts[1].sql() == str(_DELETE):
                parts = [*parts[:2], *old, *parts[2 + len(old) :]]
                instruction = instruction.withNewChildren(self.jvm.seq(parts))
            changed.append(instruction)
        return self.jvm.seq(changed)
