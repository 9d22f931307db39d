"""Execution of row-level statements: analysis, write and commit, retried on conflicts with concurrent commits."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paimon_sql.format.metadata.snapshot import Operation, Snapshot
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.spark.row_level.changed_rows import Analyzer, ChangedRows, Counts, RowChange, Rows, rows_of_scan
from paimon_sql.spark.row_level.lineage import TracedStatement, traced
from paimon_sql.spark.row_level.schema_evolution import evolve
from paimon_sql.spark.row_level.strategies import change_append, change_columns, drop_changed_keys, upsert
from paimon_sql.spark.row_level.target import StatementRun, TargetProxy
from paimon_sql.sql.statements.rows import DeleteFrom, MergeInto, RowStatement, Update
from paimon_sql.storage.read.metadata_columns import (
    BUCKET,
    FILE_PATH,
    PARTITION,
    ROW_INDEX,
    is_tracked,
    metadata_fields,
)
from paimon_sql.storage.row_level.copy_on_write import remove_partitions
from paimon_sql.storage.row_level.strategy import RowLevelLayout, RowLevelStrategy, check_assigned, check_columns
from paimon_sql.storage.scan.pinned import pinned
from paimon_sql.storage.statements.delete import deletes_whole_partitions
from paimon_sql.storage.statements.retries import retried_on_conflict
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.base import bound_partition_keys


@dataclass(frozen=True)
class RowLevelRun(StatementRun):
    """The execution of an UPDATE, DELETE or MERGE.

    Attributes:
        statement: the statement.
        operation: its kind.
    """

    statement: RowStatement
    operation: Operation

    def run(self) -> Counts:
        """Change the rows.

        Raises:
            CommitConflictError: concurrent commits changed the same rows during each attempt.
        """
        with traced(self.session.jvm, self._described) as done:
            counts = retried_on_conflict(self._table, self._once)
            done(counts.updated + counts.deleted + counts.inserted)
        return counts

    def _described(self) -> TracedStatement:
        """The statement with the plan of the rows that it changes, for lineage."""
        table, text = self._table(), self.statement.text
        _, changed = self._changes(table, self._strategy(table), table.snapshots.latest(), text)
        return TracedStatement(self.operation, text, table, changed.frame._jdf.queryExecution().analyzed())

    def explain(self, mode: str) -> str:
        """The strategy of `run` and the plan that finds the rows, without executing them.

        Args:
            mode: Spark's mode of EXPLAIN: ``simple``, ``extended``, ``codegen``, ``cost`` or ``formatted``.
        """
        table = self._table()
        strategy = self._strategy(table)
        base = table.snapshots.latest()
        _, changed = self._changes(table, strategy, base, self.statement.text)
        plan_text = self.session.explained(changed.frame._jdf.queryExecution(), mode)
        read = f"snapshot {base.id}" if base else "no snapshot"
        return f"== {self.operation.value} of {table.name} at {read}: {strategy.value} ==\n{plan_text}"

    def _once(self, table: Table) -> Counts:
        home = replace(self.identifier, branch=table.branch)
        table, text = evolve(self.session, self.catalog, home, table, self.statement)
        strategy = self._strategy(table)
        base = table.snapshots.latest()
        target, changed = self._changes(table, strategy, base, text)
        if self._may_delete_partitions(table) and base is not None:
            counts = self._delete_partitions(table, base, target, changed)
            if counts is not None:
                return counts
        change = RowChange(self.session.jvm, table, base, changed, self.operation, target)
        if strategy is RowLevelStrategy.UPSERT:
            self._refuse_key_changes(table, changed)
            return upsert(change)
        if strategy is RowLevelStrategy.COLUMNS and isinstance(self.statement, Update | MergeInto):
            return change_columns(change, _set_columns(table, self.statement))
        if strategy in (RowLevelStrategy.REWRITE, RowLevelStrategy.VECTORS):
            return change_append(change, strategy)
        return drop_changed_keys(change)

    def _changes(
        self, table: Table, strategy: RowLevelStrategy, base: Snapshot | None, text: str
    ) -> tuple[TargetProxy, ChangedRows]:
        """The target of the statement, and the rows that it changes."""
        row_id = self._row_id(table, strategy)
        by_bucket = strategy is RowLevelStrategy.UPSERT and self.operation is not Operation.MERGE
        folded = text.lower()
        named = [f.name for f in metadata_fields(table.schema) if f.name not in row_id and f.name.lower() in folded]
        target = TargetProxy(self.session, pinned(table, base), row_id, named, by_bucket=by_bucket)
        analyzer = Analyzer(self.session, self.catalog.name)
        changes = analyzer.changes(self.session.parsed(text), self.identifier, target)
        return target, analyzer.rows(changes, target, row_id)

    def _row_id(self, table: Table, strategy: RowLevelStrategy) -> tuple[str, ...]:
        """The columns that identify a row.

        Raises:
            UnsupportedError: a column of the table hides a required metadata column.
        """
        if strategy is RowLevelStrategy.UPSERT:
            bound = self.operation is Operation.MERGE and bound_partition_keys(table.schema)
            return (*table.schema.primary_keys, *((PARTITION,) if bound else ()))
        required = (BUCKET.name,) if strategy is RowLevelStrategy.DROP_KEYS else (FILE_PATH.name, ROW_INDEX.name)
        check_columns(table, required)
        by_id = is_tracked(table.schema) and strategy is not RowLevelStrategy.DROP_KEYS
        return (*required, ROW_ID.name) if by_id else required

    def _may_delete_partitions(self, table: Table) -> bool:
        """Whether the statement may delete a whole partition, or all rows, without a changelog of each row."""
        if not isinstance(self.statement, DeleteFrom) or not deletes_whole_partitions(table):
            return False
        return bool(table.schema.partition_keys) or self.statement.where is None

    def _delete_partitions(
        self, table: Table, base: Snapshot, target: TargetProxy, changed: ChangedRows
    ) -> Counts | None:
        """Delete whole partitions if the condition selects only those; None if it does not."""
        all_rows = rows_of_scan(changed.frame) is Rows.ALL
        if not all_rows or target.scan is None or not target.scan.request.is_about_partitions:
            return None
        predicate = target.scan.request.predicate
        count = changed.frame.count()
        remove_partitions(table, base, predicate)
        return Counts(deleted=count)

    def _refuse_key_changes(self, table: Table, changed: ChangedRows) -> None:
        if isinstance(self.statement, Update):
            set_here = {assignment.column[-1].lower() for assignment in self.statement.assignments}
            free = set(table.schema.partition_keys) - set(table.schema.primary_keys)
            check_assigned(table, {*changed.id_before, *(name for name in free if name.lower() in set_here)})

    def _table(self) -> Table:
        return self.table(self.statement.options, ", whose rows cannot be changed")

    def _strategy(self, table: Table) -> RowLevelStrategy:
        return RowLevelLayout.of(table).row_level_strategy(table, self.operation, self._deletes())

    def _deletes(self) -> bool:
        statement = self.statement
        if isinstance(statement, MergeInto):
            return any(clause.action == "DELETE" for clause in statement.clauses)
        return isinstance(statement, DeleteFrom)


def _set_columns(table: Table, statement: Update | MergeInto) -> tuple[str, ...]:
    """The columns that a statement may change in existing rows, in the table's order.

    A column may be qualified by the table's name, and followed by the name of a nested field; if it is ambiguous, all
    candidates are returned, since an extra column does no harm.
    """
    if isinstance(statement, Update):
        assignments = statement.assignments
    else:
        updates = [c for c in statement.clauses if c.action.startswith("UPDATE")]
        if any(c.action == "UPDATE *" for c in updates):
            return table.schema.names
        assignments = tuple(a for c in updates for a in c.assignments)
    assigned = {part.lower() for a in assignments for part in a.column}
    return tuple(name for name in table.schema.names if name.lower() in assigned)
