"""ALTER TABLE .. DROP PARTITION by some partition columns, and MSCK REPAIR TABLE."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_sql.catalog.table_types import writable
from paimon_sql.errors import NoSuchPartitionError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.spark import FORMAT_TABLE_REPAIR_COLLECT_STATISTICS
from paimon_sql.format.options.table.table import BRANCH
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.execution.carried_statement import Runner, StatementContext
from paimon_sql.spark.java.objects import Seq
from paimon_sql.spark.jvm.errors import refusals
from paimon_sql.spark.options import session_options, with_session_options
from paimon_sql.spark.tables.base import equal_to_row, has_partition, truncate_table
from paimon_sql.sql.context import TableName
from paimon_sql.sql.statements.tables.partitions import DropPartitions, RepairPartitions
from paimon_sql.sql.text.names import quote_path
from paimon_sql.storage.branches.selection import with_branch
from paimon_sql.storage.commit.partition_registration import relist
from paimon_sql.storage.expressions.predicates import Or, Predicate
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.format_tables.changes import drop_partitions
from paimon_sql.storage.format_tables.partitions import chosen_partitions, repair
from paimon_sql.storage.table.table import Table


class RunDropPartitions(Runner[DropPartitions]):
    """ALTER TABLE .. DROP PARTITION (..), PARTITION (..): drops all matching partitions, or none on an error.

    As in Spark, a partition spec with all columns must exist; one with some columns may match no partition.
    """

    def run(self, statement: DropPartitions, context: StatementContext) -> None:
        table = _table(context, statement.table)
        chosen = []
        for text in statement.partitions:
            predicate, is_whole = read_partition(context, statement.table, table.schema, text)
            if is_whole and not _holds(table, predicate):
                if statement.if_exists:
                    continue
                raise NoSuchPartitionError(
                    f"{table.name} has no partition {text}; nothing was dropped.",
                    name=text,
                    remedy="Add IF EXISTS to ignore it.",
                )
            chosen.append(predicate)
        if chosen:
            _drop(table, chosen)


class RunRepairPartitions(Runner[RepairPartitions]):
    """MSCK REPAIR TABLE: updates the catalog's partition registry; without one it has no effect."""

    def run(self, statement: RepairPartitions, context: StatementContext) -> None:
        identifier = context.identifier(statement.table)
        table = context.catalog.any_table(identifier)
        adds, drops = statement.mode != "DROP", statement.mode != "ADD"
        if isinstance(table, Table):
            relist(with_branch(table), adds=adds, drops=drops)
        elif table.register is not None:
            options = TableOptions(session_options(context.session, context.catalog.name, identifier))
            counts = options.get(FORMAT_TABLE_REPAIR_COLLECT_STATISTICS)
            try:
                repair(table, adds=adds, drops=drops, counts=counts)
            finally:
                cached_tables.renew(context.session)


def _table(context: StatementContext, name: TableName) -> Table | FormatTable:
    """The table with the session's options for a write."""
    identifier = context.identifier(name)
    table = context.catalog.any_table(identifier)
    if isinstance(table, FormatTable):
        return table
    options = session_options(context.session, context.catalog.name, identifier)
    return with_session_options(with_branch(writable(table), options.get(BRANCH.key)), options, writes=True)


def read_partition(
    context: StatementContext, name: TableName, schema: TableSchema, text: str
) -> tuple[Predicate, bool]:
    """The predicate of a partition spec ``(a = 1)``, and whether it names all partition columns."""
    # Spark's rules validate the columns and cast the values, as those of a statement that accepts some of the columns.
    session = context.session
    plan = session.state.sqlParser().parsePlan(f"SHOW PARTITIONS {quote_path(name)} PARTITION {text}")
    with refusals():
        spec = session.execution(plan).analyzed().pattern().get()
    columns: Seq[str] = spec.names()
    names = session.jvm.items(columns)
    predicate = equal_to_row(schema, names, spec.ident())
    assert predicate is not None
    return predicate, len(names) == len(schema.partition_keys)


def _holds(table: Table | FormatTable, predicate: Predicate) -> bool:
    if isinstance(table, FormatTable):
        return bool(chosen_partitions(table, predicate))
    return has_partition(table, predicate)


def _drop(table: Table | FormatTable, chosen: Sequence[Predicate]) -> None:
    predicate = chosen[0] if len(chosen) == 1 else Or(tuple(chosen))
    if isinstance(table, FormatTable):
        drop_partitions(table, chosen_partitions(table, predicate))
    elif has_partition(table, predicate):
        truncate_table(table, predicate)
