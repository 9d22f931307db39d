"""ALTER TABLE .. DROP PARTITION by some of the partition columns, and MSCK REPAIR TABLE."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import AnalysisException

from paimon_sql.catalog.kinds import taking_rows
from paimon_sql.errors import InvalidInputError, NoSuchPartitionError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.spark import FORMAT_TABLE_REPAIR_COLLECT_STATISTICS
from paimon_sql.format.options.table import BRANCH
from paimon_sql.format.schema import TableSchema
from paimon_sql.spark import cached_tables
from paimon_sql.spark.java import EXECUTION
from paimon_sql.spark.partitions import empty_table, having_values, holds_partition
from paimon_sql.spark.session_options import session_options, under_session
from paimon_sql.spark.statements.base import Answer, Runner, Surroundings
from paimon_sql.sql.context import TableName
from paimon_sql.sql.names import quote_name
from paimon_sql.sql.statements.partitions import DropPartitions, RepairPartitions
from paimon_sql.storage.branching import on_its_branch
from paimon_sql.storage.format_tables import FormatTable, chosen_partitions
from paimon_sql.storage.format_tables.changes import drop_partitions
from paimon_sql.storage.format_tables.registration import repair
from paimon_sql.storage.listed_partitions import relist
from paimon_sql.storage.predicates import Or, Predicate
from paimon_sql.storage.table import Table


class RunDropPartitions(Runner):
    """ALTER TABLE .. DROP PARTITION (..), PARTITION (..): all partitions with such values go, or none of them does.

    Where all columns are given the partition must be there, as Spark demands it; where some are, none may be.
    """

    statement = DropPartitions

    def run(self, statement: DropPartitions, surroundings: Surroundings) -> Answer:
        table = _table(surroundings, statement.table)
        chosen = []
        for text in statement.partitions:
            predicate, is_whole = read_partition(surroundings, statement.table, table.schema, text)
            if is_whole and not _holds(table, predicate):
                if statement.if_exists:
                    continue
                raise NoSuchPartitionError(
                    f"{table.name} has no partition {text}; nothing was dropped.",
                    name=text,
                    remedy="Add IF EXISTS to pass over it.",
                )
            chosen.append(predicate)
        if chosen:
            _drop(table, chosen)
        return Answer()


class RunRepairPartitions(Runner):
    """MSCK REPAIR TABLE: a catalog that lists partitions learns which there are; others look for them each time."""

    statement = RepairPartitions

    def run(self, statement: RepairPartitions, surroundings: Surroundings) -> Answer:
        table = surroundings.catalog.any_table(surroundings.identifier(statement.table))
        adds, drops = statement.way != "DROP", statement.way != "ADD"
        if isinstance(table, Table):
            relist(on_its_branch(table), adds=adds, drops=drops)
        elif table.register is not None:
            try:
                repair(table, adds=adds, drops=drops, counts=_counts(surroundings, statement.table))
            finally:
                cached_tables.renew(surroundings.jvm, surroundings.session)
        return Answer()


def _counts(surroundings: Surroundings, name: TableName) -> bool:
    """Whether a repair measures partitions, too."""
    identifier = surroundings.identifier(name)
    options = session_options(surroundings.jvm, surroundings.session, surroundings.catalog.name, identifier)
    return TableOptions(options).get(FORMAT_TABLE_REPAIR_COLLECT_STATISTICS)


def _table(surroundings: Surroundings, name: TableName) -> Table | FormatTable:
    """The table as a write of the session sees it."""
    identifier = surroundings.identifier(name)
    table = surroundings.catalog.any_table(identifier)
    if isinstance(table, FormatTable):
        return table
    options = session_options(surroundings.jvm, surroundings.session, surroundings.catalog.name, identifier)
    return under_session(on_its_branch(taking_rows(table), options.get(BRANCH.key)), options, writes=True)


def read_partition(
    surroundings: Surroundings, name: TableName, schema: TableSchema, text: str
) -> tuple[Predicate, bool]:
    """The condition that a partition written ``(a = 1)`` stands for, and whether it names all partition columns."""
    # Spark's own rules check the columns and cast the values: those of a statement that takes some of the columns.
    jvm, state = surroundings.jvm, surroundings.session.sessionState()
    plan = state.sqlParser().parsePlan(f"SHOW PARTITIONS {'.'.join(map(quote_name, name))} PARTITION {text}")
    skip = jvm.singleton(f"{EXECUTION}.CommandExecutionMode").SKIP()
    try:
        asked = state.executePlan(plan, skip).analyzed().pattern().get()
    except AnalysisException as error:
        # A procedure may not throw Spark's own exception.
        raise InvalidInputError(str(error).split(";\n", 1)[0]) from None
    names = jvm.items(asked.names())
    predicate = having_values(schema, names, asked.ident())
    assert predicate is not None
    return predicate, len(names) == len(schema.partition_keys)


def _holds(table: Table | FormatTable, predicate: Predicate) -> bool:
    if isinstance(table, FormatTable):
        return bool(chosen_partitions(table, predicate))
    return holds_partition(table, predicate)


def _drop(table: Table | FormatTable, chosen: Sequence[Predicate]) -> None:
    wanted = chosen[0] if len(chosen) == 1 else Or(tuple(chosen))
    if isinstance(table, FormatTable):
        drop_partitions(table, chosen_partitions(table, wanted))
    elif holds_partition(table, wanted):
        empty_table(table, wanted)
