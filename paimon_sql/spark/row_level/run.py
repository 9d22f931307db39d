"""A statement that changes rows, from its text to its commit, run again where rivals were in its way."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Any

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.kinds import taking_rows
from paimon_sql.errors import CommitConflictError, UnsupportedError
from paimon_sql.format.options.changelog import DELETE_FORCE_PRODUCE_CHANGELOG
from paimon_sql.format.options.scan import SCAN_BUCKET, SCAN_SNAPSHOT_ID
from paimon_sql.format.options.spark import (
    WRITE_DATA_EVOLUTION_UPDATE_CONFLICT_RETRY_MAX_ATTEMPTS,
    WRITE_DATA_EVOLUTION_UPDATE_CONFLICT_RETRY_WAIT_MS,
)
from paimon_sql.format.options.table import BRANCH
from paimon_sql.format.snapshot import Operation, Snapshot
from paimon_sql.format.special_fields import ROW_ID
from paimon_sql.spark.java import Jvm
from paimon_sql.spark.row_level.analysis import Analyzer, ChangedRows
from paimon_sql.spark.row_level.append import change_append
from paimon_sql.spark.row_level.columns import change_columns
from paimon_sql.spark.row_level.counts import Counts
from paimon_sql.spark.row_level.drop import drop_keys
from paimon_sql.spark.row_level.evolution import evolve
from paimon_sql.spark.row_level.plain_scan import Rows, rows_of_scan
from paimon_sql.spark.row_level.target import TargetProxy
from paimon_sql.spark.row_level.upsert import upsert
from paimon_sql.spark.session_options import session_options, under_session
from paimon_sql.sql.statements.base import RowChange
from paimon_sql.sql.statements.rows import DeleteFrom, MergeInto, Update
from paimon_sql.storage.branching import on_its_branch
from paimon_sql.storage.buckets.registry import bound_partition_keys
from paimon_sql.storage.buckets.relocation import moves_rows
from paimon_sql.storage.read.hidden_columns import BUCKET, FILE_PATH, PARTITION, ROW_INDEX, hidden_fields
from paimon_sql.storage.read.row_tracking import is_tracked
from paimon_sql.storage.row_level.way import Way, way_of
from paimon_sql.storage.row_level.whole import remove_partitions
from paimon_sql.storage.scan.file_groups import evolves
from paimon_sql.storage.scan.two_branches import OTHER_BRANCHES
from paimon_sql.storage.table import Table
from paimon_sql.storage.travel import TRAVEL_KEYS

_MAX_ATTEMPTS = WRITE_DATA_EVOLUTION_UPDATE_CONFLICT_RETRY_MAX_ATTEMPTS
_WAIT_MILLIS = WRITE_DATA_EVOLUTION_UPDATE_CONFLICT_RETRY_WAIT_MS
_ATTEMPTS = 8
_LONGEST_WAIT = 2.0


class RowLevelRun:
    """One statement on one table.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        catalog: the table's catalog.
        identifier: the table.
        statement: the statement.
        operation: its kind.
    """

    def __init__(
        self, jvm: Jvm, session: Any, catalog: Catalog, identifier: Identifier, statement: Any, operation: Operation
    ) -> None:
        self._jvm = jvm
        self._session = session
        self._catalog = catalog
        self._identifier = identifier
        self._statement = statement
        self._operation = operation
        self._analyzer = Analyzer(jvm, session, catalog.name)

    def run(self) -> Counts:
        """Change the rows.

        Raises:
            CommitConflictError: rivals changed the same rows each time it was tried.
        """
        attempt = 0
        while True:
            table = self._table()
            try:
                return self._once(table)
            except CommitConflictError:
                attempts, wait = _patience(table, attempt)
                attempt += 1
                if attempt >= attempts:
                    raise
                time.sleep(wait)

    def explain(self, mode: str) -> str:
        """What `run` would do, and the plan by which it would find the rows; nothing changes.

        Args:
            mode: how much Spark tells of the plan: ``simple``, ``extended``, ``codegen``, ``cost`` or ``formatted``.
        """
        table = self._table()
        way = way_of(table, self._operation, self._deletes())
        base = table.snapshots.latest()
        _, changed = self._changes(table, way, base, self._statement.text)
        told = self._jvm.cls("org.apache.spark.sql.api.python.PythonSQLUtils").explainString(
            changed.frame._jdf.queryExecution(), mode
        )
        read = f"snapshot {base.id}" if base else "no snapshot"
        return f"== {self._operation.value} of {table.name} at {read}: {way.value} ==\n{told}"

    def _once(self, table: Table) -> Counts:
        home = replace(self._identifier, branch=table.branch)
        table, text = evolve(self._analyzer, self._catalog, home, table, self._statement)
        way = way_of(table, self._operation, self._deletes())
        base = table.snapshots.latest()
        target, changed = self._changes(table, way, base, text)
        if self._may_empty_partitions(table) and base is not None:
            whole = self._whole_partitions(table, base, target, changed)
            if whole is not None:
                return whole
        if way is Way.UPSERT:
            self._refuse_key_changes(table, changed)
            return upsert(self._jvm, table, base, changed, self._operation, target)
        if way is Way.COLUMNS:
            return change_columns(self._jvm, table, base, changed, self._statement, self._operation, target)
        if way in (Way.REWRITE, Way.VECTORS):
            return change_append(self._jvm, table, base, changed, self._operation, way)
        return drop_keys(self._jvm, table, base, changed)

    def _changes(self, table: Table, way: Way, base: Snapshot | None, text: str) -> tuple[TargetProxy, ChangedRows]:
        """The rows that the statement changes, and the target from which they are read."""
        row_id = self._row_id(table, way)
        by_bucket = way is Way.UPSERT and self._operation is not Operation.MERGE
        folded = text.lower()
        named = [f.name for f in hidden_fields(table.schema) if f.name not in row_id and f.name.lower() in folded]
        target = TargetProxy(self._jvm, pinned(table, base), self._session, row_id, named, by_bucket=by_bucket)
        changes = self._analyzer.changes(self._analyzer.parse(text), self._identifier, target)
        return target, self._analyzer.rows(changes, target, row_id)

    def _row_id(self, table: Table, way: Way) -> tuple[str, ...]:
        """The columns that tell the rows of the table apart."""
        if way is Way.UPSERT:
            bound = self._operation is Operation.MERGE and bound_partition_keys(table.schema)
            return (*table.schema.primary_keys, *((PARTITION,) if bound else ()))
        wanted = (BUCKET.name,) if way is Way.DROP_KEYS else (FILE_PATH.name, ROW_INDEX.name)
        if taken := {*wanted} - {f.name for f in hidden_fields(table.schema)}:
            raise UnsupportedError(
                f"{table.name}: rows cannot be changed while a column is named {min(taken)}.",
                remedy="Rename the column.",
            )
        return (*wanted, ROW_ID.name) if is_tracked(table.schema) and way is not Way.DROP_KEYS else wanted

    def _may_empty_partitions(self, table: Table) -> bool:
        """Whether the statement may take away all rows of a partition, or of the table, without a word of each."""
        if not isinstance(self._statement, DeleteFrom):
            return False
        tells: bool = table.options.get(DELETE_FORCE_PRODUCE_CHANGELOG)
        if tells and table.schema.primary_keys:
            return False
        return bool(table.schema.partition_keys) or self._statement.where is None

    def _whole_partitions(
        self, table: Table, base: Snapshot, target: TargetProxy, changed: ChangedRows
    ) -> Counts | None:
        """Take whole partitions away, if the condition asks for nothing else; None if it does."""
        every = rows_of_scan(changed.frame) is Rows.ALL
        if not every or target.scan is None or not target.scan.takes_whole_partitions:
            return None
        predicate = target.scan.predicate
        count = changed.frame.count()
        remove_partitions(table, base, predicate)
        return Counts(deleted=count)

    def _refuse_key_changes(self, table: Table, changed: ChangedRows) -> None:
        if self._operation is Operation.UPDATE and changed.id_before:
            names = ", ".join(changed.id_before)
            raise UnsupportedError(
                f"{table.name}: UPDATE cannot set {names}, which is of the primary key.",
                remedy="DELETE the row and INSERT it under its new key.",
            )
        bound = bound_partition_keys(table.schema)
        if isinstance(self._statement, Update) and (bound or not moves_rows(table)):
            set_here = {assignment.column[-1].lower() for assignment in self._statement.assignments}
            free = set(table.schema.partition_keys) - set(table.schema.primary_keys)
            if stays := sorted(name for name in free if name.lower() in set_here):
                why = "bucket" if bound else "merge-engine, ignore-delete"
                raise UnsupportedError(
                    f"{table.name}: UPDATE cannot set {', '.join(stays)}, as rows of this table stay in their"
                    f" partitions ({why}).",
                    remedy="DELETE the row and INSERT it anew.",
                )

    def _table(self) -> Table:
        identifier = self._identifier
        if identifier.system_table is not None:
            raise UnsupportedError(f"{identifier} is a system table, whose rows cannot be changed.")
        options = session_options(self._jvm, self._session, self._catalog.name, identifier)
        given = {k: v for k, v in self._statement.options.items() if k not in TRAVEL_KEYS}
        asked = given.get(BRANCH.key) or options.get(BRANCH.key)
        table = on_its_branch(taking_rows(self._catalog.table(identifier)), asked)
        return under_session(table, options, writes=True).with_options(given)

    def _deletes(self) -> bool:
        statement: RowChange = self._statement
        if isinstance(statement, MergeInto):
            return any(clause.action == "DELETE" for clause in statement.clauses)
        return isinstance(statement, DeleteFrom)


def _patience(table: Table, attempt: int) -> tuple[int, float]:
    """How often a statement is tried in all, and the seconds that it waits behind an attempt."""
    attempts, millis = _MAX_ATTEMPTS, _WAIT_MILLIS
    if not evolves(table) or not (table.options.has(attempts) or table.options.has(millis)):
        return _ATTEMPTS, min(_LONGEST_WAIT, 0.05 * 2**attempt) * random.random()
    return table.options.get(attempts), table.options.get(millis) / 1000


def pinned(table: Table, snapshot: Snapshot | None) -> Table:
    """The table as reads of the statement see it: at that snapshot, with today's columns, all of its own branch."""
    left_out = TRAVEL_KEYS | OTHER_BRANCHES | {SCAN_BUCKET.key}
    options = {k: v for k, v in table.schema.options.items() if k not in left_out}
    if snapshot is not None:
        options[SCAN_SNAPSHOT_ID.key] = str(snapshot.id)
    return replace(table, schema=replace(table.schema, options=options))
