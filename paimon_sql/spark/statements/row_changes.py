"""UPDATE, DELETE and MERGE INTO."""

from __future__ import annotations

from paimon_sql.format.snapshot import Operation
from paimon_sql.format.types import BigIntType, DataField
from paimon_sql.spark.row_level.run import RowLevelRun
from paimon_sql.spark.statements.base import Answer, Runner, Surroundings
from paimon_sql.sql.statements import DeleteFrom, MergeInto, Update


class RunRowChange(Runner):
    """A statement that changes rows; it answers with how many."""

    operation: Operation

    def run(self, statement: DeleteFrom | Update | MergeInto, surroundings: Surroundings) -> Answer:
        identifier = surroundings.identifier(statement.table)
        changes = RowLevelRun(
            surroundings.jvm, surroundings.session, surroundings.catalog, identifier, statement, self.operation
        )
        found = changes.run().named(self.operation)
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
