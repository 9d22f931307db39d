"""Partition DDL that Spark cannot execute on v2 tables, DESCRIBE of a partition, and ANALYZE."""

from __future__ import annotations

from typing import Literal

from sqlglot import exp

from paimon_sql.sql.carried_statements import OfTable, Statement
from paimon_sql.sql.context import Reading
from paimon_sql.sql.dialect.nodes import Names
from paimon_sql.sql.dialect.parser import PaimonParser
from paimon_sql.sql.grammar import SLOTS, Slot
from paimon_sql.sql.statements.base import declared

PartitionSpec = tuple[tuple[str, str | None], ...]
"""Partition columns with the SQL of their values; None for a column without a value."""


def _partitions(parser: PaimonParser) -> Names | None:
    """Parse ``PARTITION (..), PARTITION (..)``, each bracket as text."""
    found: list[exp.Expr] = []
    while parser.accept("PARTITION") or (found and parser.accept(",", "PARTITION")):
        bracket = parser.bracket_text()
        if bracket is None:
            return None
        found.append(bracket)
    return Names(expressions=found) if found else None


def _spec(parser: PaimonParser) -> Names | None:
    """Parse ``(a = 1, b)``: partition columns, with or without a value."""
    close, found = parser.enter(), list[exp.Expr]()
    while close is not None and parser.index < close:
        name = parser.identifier()
        value = parser.expression_text() if parser.accept("=|==") else None
        if name is None or (parser.index < close and not parser.accept(",")):
            return None
        found.append(exp.EQ(this=name, expression=value) if value is not None else name)
    parser.step()
    return Names(expressions=found) if found else None


def _spec_value(node: Names, reading: Reading) -> PartitionSpec:
    return tuple(
        (each.this.name, reading.text(each.expression)) if isinstance(each, exp.EQ) else (each.name, None)
        for each in node.expressions
    )


SLOTS |= {
    "bracket": Slot("values in parentheses", PaimonParser.bracket_text, example="(a = 1)"),
    "partitions": Slot(
        "PARTITION (..)",
        _partitions,
        lambda node, reading: tuple(map(reading.text, node.expressions)),
        "PARTITION (a = 1), PARTITION (a = 2)",
        lambda generator, node: ", ".join(f"PARTITION {generator.sql(each)}" for each in node.expressions),
    ),
    "spec": Slot("columns in parentheses", _spec, _spec_value, "(a = 1, b)"),
}


@declared("ALTER TABLE {table} DROP [<if_exists: IF EXISTS>] {partitions} [PURGE]")
class DropPartitions(OfTable):
    """ALTER TABLE .. DROP PARTITION, where a partition spec may omit partition columns.

    Spark itself drops partitions for which all columns are named.
    """

    SPARK_PARSES = True
    partitions: tuple[str, ...]
    if_exists: bool = False

    def completed(self, node: exp.Expr, reading: Reading) -> Statement | None:
        keys = len(reading.context.partition_keys(self.table))
        return None if all(each.meta["pieces"] >= keys for each in node.args["partitions"].expressions) else self


@declared(
    "MSCK REPAIR TABLE {table} [<mode: ADD | DROP | SYNC> PARTITIONS]",
    "REPAIR TABLE {table} [<mode: ADD | DROP | SYNC> PARTITIONS]",
    "ALTER TABLE {table} RECOVER PARTITIONS",
)
class RepairPartitions(OfTable):
    """MSCK REPAIR TABLE: adds missing partitions to the list of the catalog, and drops those without a directory."""

    SPARK_PARSES = True
    mode: Literal["ADD", "DROP", "SYNC"] = "ADD"


@declared("DESCRIBE|DESC [TABLE] EXTENDED|FORMATTED {table} PARTITION {partition:bracket}")
class DescribePartition(OfTable):
    """DESCRIBE EXTENDED of a partition."""

    SPARK_PARSES = True
    partition: str

    def completed(self, node: exp.Expr, reading: Reading) -> Statement | None:
        context = reading.context
        return self if not context.is_format_table(self.table) and context.partition_keys(self.table) else None


@declared(
    "ANALYZE TABLE {table} [PARTITION {partition:spec}] COMPUTE STATISTICS"
    " [<noscan: NOSCAN> | <all_columns: FOR ALL COLUMNS> | FOR COLUMNS {columns:list}]"
)
class AnalyzeTable(OfTable):
    """ANALYZE TABLE .. COMPUTE STATISTICS of rows only, of ``columns``, or of all columns."""

    SPARK_PARSES = True
    partition: PartitionSpec | None = None
    columns: tuple[str, ...] = ()
    all_columns: bool = False
    noscan: bool = False
