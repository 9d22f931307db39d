"""UPDATE, DELETE and MERGE INTO."""

from __future__ import annotations

from paimon_sql.format.snapshot import Operation
from paimon_sql.format.types import BigIntType, DataField, string_type
from paimon_sql.spark.row_level.insert import EvolvingInsertRun
from paimon_sql.spark.row_level.run import RowLevelRun
from paimon_sql.spark.statements.base import Answer, Runner, Surroundings
from paimon_sql.sql.statements.base import RowChange
from paimon_sql.sql.statements.explain import ExplainChange
from paimon_sql.sql.statements.insert import EvolvingInsert
from paimon_sql.sql.statements.rows import DeleteFrom, MergeInto, Update


class RunRowChange(Runner):
    """A statement that changes rows; it answers with how many."""

    operation: Operation

    def run(self, statement: RowChange, surroundings: Surroundings) -> Answer:
        found = _run_of(statement, surroundings).run().named(self.operation)
        columns = tuple(DataField(-1, name, BigIntType(False)) for name in found)
        return Answer(columns, [tuple(found.values())])


class RunDelete(RunRowChange):
    """DELETE FROM."""

    statement = DeleteFrom
    operation = Operation.DELETE


class RunUpdate(RunRowChange):
    """UPDATE .. SET."""

    statement = Update
    operation = Operation.UPDATE


class RunMerge(RunRowChange):
    """MERGE INTO."""

    statement = MergeInto
    operation = Operation.MERGE


class RunEvolvingInsert(Runner):
    """INSERT .. BY NAME that may bring columns; like any INSERT it answers nothing."""

    statement = EvolvingInsert

    def run(self, statement: EvolvingInsert, surroundings: Surroundings) -> Answer:
        _insert_of(statement, surroundings).run()
        return Answer()


class RunExplainChange(Runner):
    """EXPLAIN of one of these: what it would do, in one row."""

    statement = ExplainChange

    def run(self, statement: ExplainChange, surroundings: Surroundings) -> Answer:
        change = statement.statement
        if isinstance(change, EvolvingInsert):
            told = _insert_of(change, surroundings).explain(statement.mode)
        else:
            told = _run_of(change, surroundings).explain(statement.mode)
        return Answer((DataField(-1, "plan", string_type(False)),), [(told,)])


def _run_of(statement: RowChange, surroundings: Surroundings) -> RowLevelRun:
    return RowLevelRun(
        surroundings.jvm,
        surroundings.session,
        surroundings.catalog,
        surroundings.identifier(statement.table),
        statement,
        _OPERATIONS[type(statement)],
    )


def _insert_of(statement: EvolvingInsert, surroundings: Surroundings) -> EvolvingInsertRun:
    identifier = surroundings.identifier(statement.table)
    return EvolvingInsertRun(surroundings.jvm, surroundings.session, surroundings.catalog, identifier, statement)


_OPERATIONS: dict[type[RowChange], Operation] = {r.statement: r.operation for r in (RunDelete, RunUpdate, RunMerge)}
