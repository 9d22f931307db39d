"""Partition DDL that Spark cannot execute on v2 tables, DESCRIBE of a partition, and ANALYZE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp
from sqlglot.generator import Generator

from paimon_sql.sql.carried_statements import Statement
from paimon_sql.sql.context import Reading, TableName
from paimon_sql.sql.dialect.nodes import Names, Verbatim
from paimon_sql.sql.dialect.parser import PaimonParser
from paimon_sql.sql.grammar.slots import SLOTS, Slot
from paimon_sql.sql.statements.base import declared

PartitionSpec = tuple[tuple[str, str | None], ...]
"""Partition columns with the SQL of their values; None for a column without a value."""


class _Bracket(Slot):
    """A bracket with its contents, as text."""

    what = "values in parentheses"
    example = "(a = 1)"

    def parse(self, parser: PaimonParser) -> Verbatim | None:
        return parser.bracket_text()


class _Partitions(Slot):
    """``PARTITION (..), PARTITION (..)``, each bracket as text."""

    what = "PARTITION (..)"
    example = "PARTITION (a = 1), PARTITION (a = 2)"

    def parse(self, parser: PaimonParser) -> Names | None:
        found: list[exp.Expr] = []
        while parser.accept("PARTITION") or (found and parser.accept(",", "PARTITION")):
            bracket = parser.bracket_text()
            if bracket is None:
                return None
            found.append(bracket)
        return Names(expressions=found) if found else None

    def value(self, node: exp.Expr, reading: Reading) -> tuple[str, ...]:
        return tuple(map(reading.text, node.expressions))

    def sql(self, generator: Generator, node: exp.Expr) -> str:
        return ", ".join(f"PARTITION {generator.sql(each)}" for each in node.expressions)


class _Spec(Slot):
    """``(a = 1, b)``: partition columns, with or without a value."""

    what = "columns in parentheses"
    example = "(a = 1, b)"

    def parse(self, parser: PaimonParser) -> Names | None:
        inside = parser.bracket()
        if inside is None:
            return None
        parser.advance_into()
        found: list[exp.Expr] = []
        while parser.index < inside[1]:
            name = parser.identifier()
            value = parser.expression_text() if parser.accept("=|==") else None
            if name is None or (parser.index < inside[1] and not parser.accept(",")):
                return None
            found.append(exp.EQ(this=name, expression=value) if value is not None else name)
        parser.advance_into()
        return Names(expressions=found) if found else None

    def value(self, node: exp.Expr, reading: Reading) -> PartitionSpec:
        return tuple(
            (each.this.name, reading.text(each.expression)) if isinstance(each, exp.EQ) else (each.name, None)
            for each in node.expressions
        )


SLOTS |= {"bracket": _Bracket(), "partitions": _Partitions(), "spec": _Spec()}


@declared("ALTER TABLE {table} DROP [<if_exists: IF EXISTS>] {partitions} [PURGE]")
@dataclass(frozen=True)
class DropPartitions(Statement):
    """ALTER TABLE .. DROP PARTITION, where a partition spec may omit partition columns.

    Spark itself drops partitions for which all columns are named.
    """

    SPARK_PARSES = True
    table: TableName
    partitions: tuple[str, ...]
    if_exists: bool = False

    @classmethod
    def of(cls, node: exp.Expr, reading: Reading) -> Statement | None:
        statement = super().of(node, reading)
        if not isinstance(statement, DropPartitions):
            return None
        keys = len(reading.context.partition_keys(statement.table))
        counts = [each.meta["pieces"] for each in node.args["partitions"].expressions]
        return None if all(count >= keys for count in counts) else statement


@declared(
    "MSCK REPAIR TABLE {table} [<mode: ADD | DROP | SYNC> PARTITIONS]",
    "REPAIR TABLE {table} [<mode: ADD | DROP | SYNC> PARTITIONS]",
    "ALTER TABLE {table} RECOVER PARTITIONS",
)
@dataclass(frozen=True)
class RepairPartitions(Statement):
    """MSCK REPAIR TABLE: adds missing partitions to the list of the catalog, and drops those without a directory."""

    SPARK_PARSES = True
    table: TableName
    mode: Literal["ADD", "DROP", "SYNC"] = "ADD"


@declared("DESCRIBE|DESC [TABLE] EXTENDED|FORMATTED {table} PARTITION {partition:bracket}")
@dataclass(frozen=True)
class DescribePartition(Statement):
    """DESCRIBE EXTENDED of a partition."""

    SPARK_PARSES = True
    table: TableName
    partition: str

    @classmethod
    def of(cls, node: exp.Expr, reading: Reading) -> Statement | None:
        statement, context = super().of(node, reading), reading.context
        if not isinstance(statement, DescribePartition) or context.is_format_table(statement.table):
            return None
        return statement if context.partition_keys(statement.table) else None


@declared(
    "ANALYZE TABLE {table} [PARTITION {partition:spec}] COMPUTE STATISTICS"
    " [<noscan: NOSCAN> | <all_columns: FOR ALL COLUMNS> | FOR COLUMNS {columns:list}]"
)
@dataclass(frozen=True)
class AnalyzeTable(Statement):
    """ANALYZE TABLE .. COMPUTE STATISTICS of rows only, of ``columns``, or of all columns."""

    SPARK_PARSES = True
    table: TableName
    partition: PartitionSpec | None = None
    columns: tuple[str, ...] = ()
    all_columns: bool = False
    noscan: bool = False
