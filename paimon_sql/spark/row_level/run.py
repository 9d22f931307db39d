"""A statement that changes rows, from its text to its commit, run again where rivals were in its way."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Any

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import CommitConflictError, UnsupportedError
from paimon_sql.format.options.scan import SCAN_SNAPSHOT_ID
from paimon_sql.format.snapshot import Operation, Snapshot
from paimon_sql.spark.java import Jvm
from paimon_sql.spark.row_level.analysis import Analyzer, ChangedRows
from paimon_sql.spark.row_level.append import change_append
from paimon_sql.spark.row_level.counts import Counts
from paimon_sql.spark.row_level.target import TargetProxy
from paimon_sql.spark.row_level.upsert import upsert
from paimon_sql.spark.session_options import session_options, under_session
from paimon_sql.sql.statements import DeleteFrom, MergeInto, RowChange
from paimon_sql.storage.read.hidden_columns import FILE_PATH, ROW_INDEX, hidden_fields
from paimon_sql.storage.row_level.way import Way, way_of
from paimon_sql.storage.table import Table
from paimon_sql.storage.travel import TRAVEL_KEYS

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
        for attempt in range(_ATTEMPTS):
            try:
                return self._once()
            except CommitConflictError:
                if attempt + 1 == _ATTEMPTS:
                    raise
                time.sleep(min(_LONGEST_WAIT, 0.05 * 2**attempt) * random.random())
        raise AssertionError("unreachable")

    def _once(self) -> Counts:
        table = self._table()
        way = way_of(table, self._operation, self._deletes())
        base = table.snapshots.latest()
        row_id = self._row_id(table, way)
        target = TargetProxy(self._jvm, pinned(table, base), self._session, row_id)
        changes = self._analyzer.changes(self._analyzer.parse(self._statement.text), self._identifier, target)
        changed = self._analyzer.rows(changes, target, row_id)
        if way is Way.UPSERT:
            self._refuse_key_changes(table, changed)
            return upsert(self._jvm, table, base, changed, self._operation)
        if way in (Way.REWRITE, Way.VECTORS):
            return change_append(self._jvm, table, base, changed, self._operation, way)
        raise UnsupportedError(f"{table.name}: changing rows as {way.value} is not offered yet.")

    def _row_id(self, table: Table, way: Way) -> tuple[str, ...]:
        """The columns that tell the rows of the table apart."""
        if way is Way.UPSERT:
            return table.schema.primary_keys
        offered = {f.name for f in hidden_fields(table.schema)}
        if taken := {FILE_PATH.name, ROW_INDEX.name} - offered:
            raise UnsupportedError(
                f"{table.name}: rows cannot be changed while a column is named {min(taken)}.",
                remedy="Rename the column.",
            )
        return FILE_PATH.name, ROW_INDEX.name

    def _refuse_key_changes(self, table: Table, changed: ChangedRows) -> None:
        if self._operation is Operation.UPDATE and changed.id_before:
            names = ", ".join(changed.id_before)
            raise UnsupportedError(
                f"{table.name}: UPDATE cannot set {names}, which is of the primary key.",
                remedy="DELETE the row and INSERT it under its new key.",
            )

    def _table(self) -> Table:
        identifier = self._identifier
        if identifier.system_table is not None:
            raise UnsupportedError(f"{identifier} is a system table, whose rows cannot be changed.")
        options = session_options(self._session, self._catalog.name, identifier)
        table = under_session(self._catalog.table(identifier), options, writes=True)
        given = {k: v for k, v in self._statement.options.items() if k not in TRAVEL_KEYS}
        return table.with_options(given)

    def _deletes(self) -> bool:
        statement: RowChange = self._statement
        if isinstance(statement, MergeInto):
            return any(clause.action == "DELETE" for clause in statement.clauses)
        return isinstance(statement, DeleteFrom)


def pinned(table: Table, snapshot: Snapshot | None) -> Table:
    """The table as reads of the statement see it: at that snapshot, with today's columns."""
    options = {k: v for k, v in table.schema.options.items() if k not in TRAVEL_KEYS}
    if snapshot is not None:
        options[SCAN_SNAPSHOT_ID.key] = str(snapshot.id)
    return replace(table, schema=replace(table.schema, options=options))
