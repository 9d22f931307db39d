"""UPDATE, DELETE and MERGE INTO."""

from __future__ import annotations

from typing import TypeVar

from paimon_sql.format.metadata.snapshot import Operation
from paimon_sql.format.schema.types import BigIntType, DataField, string_type
from paimon_sql.spark.execution.carried_statement import Answer, Runner, StatementContext
from paimon_sql.spark.row_level.run import RowLevelRun
from paimon_sql.spark.row_level.schema_evolution import EvolvingInsertRun
from paimon_sql.sql.carried_statements import ExplainChange, RowChange
from paimon_sql.sql.statements.insert import EvolvingInsert
from paimon_sql.sql.statements.rows import DeleteFrom, MergeInto, RowStatement, Update

C = TypeVar("C", DeleteFrom, Update, MergeInto)


class _RunRowChange(Runner[C]):
    """A row-level statement; the result is the number of changed rows."""

    def run(self, statement: C, context: StatementContext) -> Answer:
        found = _run_of(statement, context).run().named(_OPERATIONS[self.statement])
        columns = tuple(DataField(-1, name, BigIntType(False)) for name in found)
        return Answer(columns, [tuple(found.values())])


class RunDelete(_RunRowChange[DeleteFrom]):
    """DELETE FROM."""


class RunUpdate(_RunRowChange[Update]):
    """UPDATE .. SET."""


class RunMerge(_RunRowChange[MergeInto]):
    """MERGE INTO."""


class RunEvolvingInsert(Runner[EvolvingInsert]):
    """INSERT with schema evolution; like any INSERT it has no result."""

    def run(self, statement: EvolvingInsert, context: StatementContext) -> None:
        _insert_of(statement, context).run()


class RunExplainChange(Runner[ExplainChange]):
    """EXPLAIN of one of these statements; the result has one row."""

    def run(self, statement: ExplainChange, context: StatementContext) -> Answer:
        change = statement.statement
        if isinstance(change, EvolvingInsert):
            plan = _insert_of(change, context).explain(statement.mode)
        else:
            assert isinstance(change, RowStatement)
            plan = _run_of(change, context).explain(statement.mode)
        return Answer((DataField(-1, "plan", string_type(False)),), [(plan,)])


def _run_of(statement: RowStatement, context: StatementContext) -> RowLevelRun:
    identifier = context.identifier(statement.table)
    return RowLevelRun(context.session, context.catalog, identifier, statement, _OPERATIONS[type(statement)])


def _insert_of(statement: EvolvingInsert, context: StatementContext) -> EvolvingInsertRun:
    identifier = context.identifier(statement.table)
    return EvolvingInsertRun(context.session, context.catalog, identifier, statement)


_OPERATIONS: dict[type[RowChange], Operation] = {
    DeleteFrom: Operation.DELETE,
    Update: Operation.UPDATE,
    MergeInto: Operation.MERGE,
}
