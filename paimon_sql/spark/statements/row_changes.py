"""UPDATE, DELETE and MERGE INTO."""

from __future__ import annotations

from paimon_sql.format.metadata.snapshot import Operation
from paimon_sql.format.schema.types import BigIntType, DataField, string_type
from paimon_sql.spark.execution.carried_statement import Answer, Runner, StatementContext
from paimon_sql.spark.row_level.insert import EvolvingInsertRun
from paimon_sql.spark.row_level.run import RowLevelRun
from paimon_sql.sql.grammar.statement import RowChange
from paimon_sql.sql.statements.explain import ExplainChange
from paimon_sql.sql.statements.insert import EvolvingInsert
from paimon_sql.sql.statements.rows import DeleteFrom, MergeInto, Update


class _RunRowChange(Runner):
    """A row-level statement; the result is the number of changed rows."""

    operation: Operation

    def run(self, statement: RowChange, context: StatementContext) -> Answer:
        found = _run_of(statement, context).run().named(self.operation)
        columns = tuple(DataField(-1, name, BigIntType(False)) for name in found)
        return Answer(columns, [tuple(found.values())])


class RunDelete(_RunRowChange):
    """DELETE FROM."""

    statement = DeleteFrom
    operation = Operation.DELETE


class RunUpdate(_RunRowChange):
    """UPDATE .. SET."""

    statement = Update
    operation = Operation.UPDATE


class RunMerge(_RunRowChange):
    """MERGE INTO."""

    statement = MergeInto
    operation = Operation.MERGE


class RunEvolvingInsert(Runner):
    """INSERT with schema evolution; like any INSERT it has no result."""

    statement = EvolvingInsert

    def run(self, statement: EvolvingInsert, context: StatementContext) -> Answer:
        _insert_of(statement, context).run()
        return Answer()


class RunExplainChange(Runner):
    """EXPLAIN of one of these statements; the result has one row."""

    statement = ExplainChange

    def run(self, statement: ExplainChange, context: StatementContext) -> Answer:
        change = statement.statement
        if isinstance(change, EvolvingInsert):
            plan = _insert_of(change, context).explain(statement.mode)
        else:
            plan = _run_of(change, context).explain(statement.mode)
        return Answer((DataField(-1, "plan", string_type(False)),), [(plan,)])


def _run_of(statement: RowChange, context: StatementContext) -> RowLevelRun:
    return RowLevelRun(
        context.jvm,
        context.session,
        context.catalog,
        context.identifier(statement.table),
        statement,
        _OPERATIONS[type(statement)],
    )


def _insert_of(statement: EvolvingInsert, context: StatementContext) -> EvolvingInsertRun:
    identifier = context.identifier(statement.table)
    return EvolvingInsertRun(context.jvm, context.session, context.catalog, identifier, statement)


_OPERATIONS: dict[type[RowChange], Operation] = {r.statement: r.operation for r in (RunDelete, RunUpdate, RunMerge)}
