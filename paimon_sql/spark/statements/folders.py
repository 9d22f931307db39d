"""ALTER TABLE .. DROP PARTITION of a format table by some of its partition columns."""

from __future__ import annotations

from pyspark.errors import AnalysisException

from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.spark.java import EXECUTION
from paimon_sql.spark.partitions import having_values
from paimon_sql.spark.statements.base import Answer, Runner, Surroundings
from paimon_sql.sql.scan import quote_name
from paimon_sql.sql.statements import DropFolders
from paimon_sql.storage.format_tables import FormatTable, chosen_partitions
from paimon_sql.storage.format_tables.changes import drop_partitions


class RunDropFolders(Runner):
    """ALTER TABLE .. DROP PARTITION (..): all partitions with such values go, with their folders."""

    statement = DropFolders

    def run(self, statement: DropFolders, surroundings: Surroundings) -> Answer:
        table = surroundings.catalog.any_table(surroundings.identifier(statement.table))
        if not isinstance(table, FormatTable):
            raise UnsupportedError(f"{table.name} is no format table any more.", remedy="Run the statement again.")
        # Spark's own rules check the columns and cast the values: those of a statement that takes some of the columns.
        jvm, state = surroundings.jvm, surroundings.session.sessionState()
        name = ".".join(map(quote_name, statement.table))
        plan = state.sqlParser().parsePlan(f"SHOW PARTITIONS {name} PARTITION {statement.partition}")
        skip = jvm.singleton(f"{EXECUTION}.CommandExecutionMode").SKIP()
        try:
            asked = state.executePlan(plan, skip).analyzed().pattern().get()
        except AnalysisException as error:
            # A procedure may not throw Spark's own exception.
            raise InvalidInputError(str(error).split(";\n", 1)[0]) from None
        wanted = having_values(table.schema, jvm.items(asked.names()), asked.ident())
        drop_partitions(table, chosen_partitions(table, wanted))
        return Answer()
