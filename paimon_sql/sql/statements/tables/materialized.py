"""Materialized tables, in Flink's syntax: CREATE, ALTER, DROP and SHOW.

A query stays text, in Spark's grammar and at its position, so that Spark reports positions of its errors.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Literal

from sqlglot import exp

from paimon_sql.sql.carried_statements import OfTable, Options, Statement
from paimon_sql.sql.context import Reading, TableName, names_of
from paimon_sql.sql.dialect.nodes import Names, span
from paimon_sql.sql.dialect.parser import PaimonParser, reads
from paimon_sql.sql.edits import Edit, blanked
from paimon_sql.sql.grammar import READS, SLOTS, Slot
from paimon_sql.sql.statements.base import declared

Unit = Literal["SECOND", "MINUTE", "HOUR", "DAY"]
_UNITS: tuple[Unit, ...] = ("SECOND", "MINUTE", "HOUR", "DAY")
_COLUMNS = "List only names: (a, b, PRIMARY KEY (a) NOT ENFORCED). CAST them in the query for other types."
_FRESHNESS = "Write FRESHNESS = INTERVAL '3' MINUTE, in SECOND, MINUTE, HOUR or DAY."
_NO_LITERAL = "A partition value must be a literal"
_PARTITION = "Write PARTITION (dt = '2024-01-01')."


def _columns(parser: PaimonParser) -> exp.Schema | None:
    """Parse column names with comments, and a primary key, in brackets."""
    close, found = parser.enter(), list[exp.Expr]()
    if close is None:
        return None
    while not found or parser.accept(","):
        found.append(_column(parser))
    parser.leave(close, "Column types cannot be specified for a materialized table", _COLUMNS)
    return exp.Schema(expressions=found)


def _column(parser: PaimonParser) -> exp.Expr:
    if parser.sees("CONSTRAINT") and parser.sees("PRIMARY", ahead=2):
        parser.move_to(parser.index + 2)
    first = parser.token
    if parser.accept("PRIMARY", "KEY"):
        names = parser.names_in_brackets()
        if names is None:
            raise parser.refusal("PRIMARY KEY needs column names in parentheses")
        parser.accept("NOT", "ENFORCED")
        return parser.placed(exp.PrimaryKey(expressions=names.expressions), first)
    name = parser.identifier()
    if name is None:
        raise parser.refusal("Expected the name of a column", remedy=_COLUMNS)
    comment = parser.string() if parser.accept("COMMENT") else None
    constraints = [exp.ColumnConstraint(kind=exp.CommentColumnConstraint(this=comment))] if comment else None
    return parser.placed(exp.ColumnDef(this=name, constraints=constraints), first)


def _freshness(parser: PaimonParser) -> exp.Interval:
    if not parser.accept("INTERVAL"):
        raise parser.refusal("FRESHNESS needs an interval", remedy=_FRESHNESS)
    at = parser.token
    number = parser.string() or parser.whole_number()
    if number is None or not number.name.strip().isdecimal() or int(number.name) == 0:
        raise parser.refusal("FRESHNESS needs an integer number of units", at, _FRESHNESS)
    unit = parser.token.text.upper().removesuffix("S") if parser.token else ""
    if unit not in _UNITS:
        raise parser.refusal("FRESHNESS needs a unit", remedy=_FRESHNESS)
    parser.step()
    return exp.Interval(this=exp.Literal.string(number.name.strip()), unit=exp.Var(this=unit))


def _values(parser: PaimonParser) -> Names | None:
    """Parse ``(dt = '2024-01-01', h = 3)``: a partition spec with literals."""
    close, found = parser.enter(), dict[str, exp.Expr]()
    if close is None or parser.index == close:
        return None
    while not found or parser.accept(","):
        first, name = parser.token, parser.identifier()
        if name is None or not parser.accept("="):
            raise parser.refusal("PARTITION needs column = value", first, _PARTITION)
        if name.name in found:
            raise parser.refusal(f"PARTITION specifies column {name.name} twice", first)
        parser.accept("DATE|TIMESTAMP")
        value = parser.literal()
        if value is None:
            raise parser.refusal(_NO_LITERAL, remedy=_PARTITION)
        found[name.name] = exp.EQ(this=name, expression=value)
    parser.leave(close, _NO_LITERAL, _PARTITION)
    return Names(expressions=list(found.values()))


def _defining(parser: PaimonParser) -> exp.Expr:
    defining = parser.query() if parser.sees(*READS) else None
    if defining is None:
        raise parser.refusal("A materialized table is defined by a query", remedy="Write AS and a SELECT.")
    if (parameter := parser.parameter_within(defining)) is not None:
        problem = "The query of a materialized table cannot contain parameters"
        raise parser.refusal(problem, parameter, "Write the values.")
    return defining


def _with_blanks(node: exp.Expr, reading: Reading) -> str:
    """A query with blanks before it, so that positions are the user's."""
    return blanked(reading.source[: span(node).start]) + reading.text(node)


def _database(node: exp.Expr, reading: Reading) -> TableName:
    """The name of a database; its catalog is by default the current one."""
    names = names_of(node) or ()
    return names if len(names) > 1 else (reading.context.current_catalog, *names)


SLOTS |= {
    "key_columns": Slot(
        "column names in parentheses", _columns, lambda node, _: node, "(a, b, PRIMARY KEY (a) NOT ENFORCED)"
    ),
    "freshness": Slot("an interval", _freshness, lambda node, _: (node.name, node.text("unit")), "INTERVAL '3' MINUTE"),
    "values": Slot(
        "columns and values in parentheses",
        _values,
        lambda node, _: {each.this.name: each.expression.name for each in node.expressions},
        "(dt = '2024-01-01')",
    ),
    "defining": Slot("a query", _defining, _with_blanks, "query"),
    "database": Slot("the name of a database", PaimonParser.parts, _database),
}


class _WithQuery(OfTable):
    """A statement with a query: its text in Spark's grammar, with the user's lines and columns for Spark's errors."""

    SPARK_PARSES = True
    query: str

    @classmethod
    def plain_edits(cls, node: exp.Expr, reading: Reading) -> list[Edit]:
        """Blanks before the query."""
        start, end = span(node).start, span(node.args["query"]).start
        return [Edit(start, end, blanked(reading.source[start:end]))]


@declared(
    "CREATE [<or_alter: OR ALTER>] MATERIALIZED TABLE! [<if_not_exists: IF NOT EXISTS>] {table:new_table}"
    " [{schema:key_columns}] (* [COMMENT {comment:string}] [PARTITIONED BY {partitions:names}]"
    " [WITH|TBLPROPERTIES {options}] [FRESHNESS =? {freshness}]"
    " [REFRESH_MODE =? <refresh_mode: CONTINUOUS | FULL>] *) AS {query:defining}"
)
class CreateMaterializedTable(_WithQuery):
    """CREATE MATERIALIZED TABLE .. AS.

    Attributes:
        columns: names of the query's columns, in the order of the table; empty for the query's order.
        column_comments: comments by column.
        primary_key: the key columns; empty for an append table.
        freshness: the max age of the rows: a number, and its unit in the singular.
        refresh_mode: by default the freshness decides.
        or_alter: whether an existing table gets the query, freshness, mode and options.
    """

    columns: tuple[str, ...] = ()
    column_comments: Options = field(default_factory=dict)
    primary_key: tuple[str, ...] = ()
    comment: str | None = None
    partitions: tuple[str, ...] = ()
    options: Options = field(default_factory=dict)
    freshness: tuple[str, Unit] | None = None
    refresh_mode: Literal["CONTINUOUS", "FULL"] | None = None
    or_alter: bool = False
    if_not_exists: bool = False

    def completed(self, node: exp.Expr, reading: Reading) -> Statement:
        elements = node.args["schema"].expressions if node.args.get("schema") else ()
        columns = [each for each in elements if isinstance(each, exp.ColumnDef)]
        keys = [each for each in elements if isinstance(each, exp.PrimaryKey)]
        return replace(
            self,
            columns=tuple(each.name for each in columns),
            column_comments={each.name: each.constraints[0].kind.name for each in columns if each.constraints},
            primary_key=tuple(part.name for key in keys for part in key.expressions),
        )


@declared("ALTER MATERIALIZED TABLE {table:new_table} AS! {query:defining}")
class ChangeMaterializedQuery(_WithQuery):
    """ALTER MATERIALIZED TABLE .. AS; the query as in `CreateMaterializedTable`."""


@declared("ALTER MATERIALIZED TABLE {table:new_table} SUSPEND!")
class SuspendMaterializedTable(OfTable):
    """ALTER MATERIALIZED TABLE .. SUSPEND."""


@declared("ALTER MATERIALIZED TABLE {table:new_table} RESUME! [WITH {options}]")
class ResumeMaterializedTable(OfTable):
    """ALTER MATERIALIZED TABLE .. RESUME; the options are added to the table."""

    options: Options = field(default_factory=dict)


@declared("ALTER MATERIALIZED TABLE {table:new_table} REFRESH! [PARTITION {partition:values}]")
class RefreshMaterializedTable(OfTable):
    """ALTER MATERIALIZED TABLE .. REFRESH of all rows, or of the partitions with these values."""

    partition: Options = field(default_factory=dict)


@declared("DROP MATERIALIZED TABLE! [<if_exists: IF EXISTS>] {table:new_table}")
class DropMaterializedTable(OfTable):
    """DROP MATERIALIZED TABLE."""

    if_exists: bool = False


@declared("SHOW MATERIALIZED TABLES! [FROM|IN {database}] [LIKE {pattern:string}]")
class ShowMaterializedTables(Statement):
    """SHOW MATERIALIZED TABLES of a database, or of those whose names match the pattern."""

    database: TableName = ()
    pattern: str | None = None

    def completed(self, node: exp.Expr, reading: Reading) -> Statement | None:
        context = reading.context
        database = self.database or (context.current_catalog, context.current_database)
        return replace(self, database=database) if database[0] in context.catalogs else None


@declared("SHOW CREATE MATERIALIZED TABLE! {table:new_table}")
class ShowCreateMaterializedTable(OfTable):
    """SHOW CREATE MATERIALIZED TABLE."""


@reads("CREATE", "OR", "REPLACE", "MATERIALIZED", "TABLE")
def replaced(parser: PaimonParser) -> None:
    """Refuse to replace a materialized table."""
    parser.step()
    remedy = "Write CREATE OR ALTER, or DROP it first."
    raise parser.refusal("A materialized table cannot be replaced", remedy=remedy)


@reads("ALTER", "MATERIALIZED", "TABLE")
def otherwise(parser: PaimonParser) -> None:
    """Refuse other forms of ALTER MATERIALIZED TABLE."""
    parser.accept("ALTER", "MATERIALIZED", "TABLE")
    if parser.table_name() is None:
        raise parser.refusal("Expected the name of a materialized table")
    remedy = "Write SUSPEND, RESUME, REFRESH or AS and a query."
    raise parser.refusal("Unsupported change of a materialized table", remedy=remedy)
