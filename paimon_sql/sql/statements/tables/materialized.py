"""Materialized tables, in Flink's syntax: CREATE, ALTER, DROP and SHOW.

A query stays text, in Spark's grammar and at its position, so that Spark reports positions of its errors.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from sqlglot import exp

from paimon_sql.sql.carried_statements import Options, Statement
from paimon_sql.sql.context import Reading, TableName, names_of
from paimon_sql.sql.dialect.nodes import Names, span
from paimon_sql.sql.dialect.parser import PaimonParser, reads
from paimon_sql.sql.edits import Edit, blanked
from paimon_sql.sql.grammar.slots import SLOTS, Query, Slot
from paimon_sql.sql.statements.base import Carried, Outcome, declared, rewrites

Unit = Literal["SECOND", "MINUTE", "HOUR", "DAY"]
_UNITS: tuple[Unit, ...] = ("SECOND", "MINUTE", "HOUR", "DAY")
_COLUMNS = "List only names: (a, b, PRIMARY KEY (a) NOT ENFORCED). CAST them in the query for other types."
_FRESHNESS = "Write FRESHNESS = INTERVAL '3' MINUTE, in SECOND, MINUTE, HOUR or DAY."
_PARTITION = "Write PARTITION (dt = '2024-01-01')."


class _Columns(Slot):
    """Column names with comments, and a primary key, in brackets."""

    what = "column names in parentheses"
    example = "(a, b, PRIMARY KEY (a) NOT ENFORCED)"

    def parse(self, parser: PaimonParser) -> exp.Schema | None:
        inside = parser.bracket()
        if inside is None:
            return None
        parser.advance_into()
        found: list[exp.Expr] = []
        while not found or parser.accept(","):
            found.append(self._element(parser))
        if parser.index != inside[1]:
            raise parser.refusal("Column types cannot be specified for a materialized table", remedy=_COLUMNS)
        parser.advance_into()
        return exp.Schema(expressions=found)

    def _element(self, parser: PaimonParser) -> exp.Expr:
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

    def value(self, node: exp.Expr, reading: Reading) -> exp.Expr:
        return node


class _Freshness(Slot):
    """``INTERVAL '3' MINUTE``."""

    what = "an interval"
    example = "INTERVAL '3' MINUTE"

    def parse(self, parser: PaimonParser) -> exp.Interval | None:
        if not parser.accept("INTERVAL"):
            raise parser.refusal("FRESHNESS needs an interval", remedy=_FRESHNESS)
        at = parser.token
        number = parser.string() or parser.whole_number()
        if number is None or not number.name.strip().isdecimal() or int(number.name) == 0:
            raise parser.refusal("FRESHNESS needs an integer number of units", at, _FRESHNESS)
        unit = parser.token.text.upper().removesuffix("S") if parser.token else ""
        if unit not in _UNITS:
            raise parser.refusal("FRESHNESS needs a unit", remedy=_FRESHNESS)
        parser.advance_into()
        return exp.Interval(this=exp.Literal.string(number.name.strip()), unit=exp.Var(this=unit))

    def value(self, node: exp.Expr, reading: Reading) -> tuple[str, Unit]:
        return node.this.name, node.args["unit"].name


class _Values(Slot):
    """``(dt = '2024-01-01', h = 3)``: a partition spec with literals, as strings."""

    what = "columns and values in parentheses"
    example = "(dt = '2024-01-01')"

    def parse(self, parser: PaimonParser) -> Names | None:
        inside = parser.bracket()
        if inside is None or inside[0] == inside[1]:
            return None
        parser.advance_into()
        found: list[exp.Expr] = []
        while not found or parser.accept(","):
            found.append(self._pair(parser, {each.this.name for each in found}))
        if parser.index != inside[1]:
            raise parser.refusal("A partition value must be a literal", remedy=_PARTITION)
        parser.advance_into()
        return Names(expressions=found)

    def _pair(self, parser: PaimonParser, known: set[str]) -> exp.EQ:
        first, name = parser.token, parser.identifier()
        if name is None or not parser.accept("="):
            raise parser.refusal("PARTITION needs column = value", first, _PARTITION)
        if name.name in known:
            raise parser.refusal(f"PARTITION specifies column {name.name} twice", first)
        parser.accept("DATE|TIMESTAMP")
        value = parser.literal()
        if value is None:
            raise parser.refusal("A partition value must be a literal", remedy=_PARTITION)
        return exp.EQ(this=name, expression=value)

    def value(self, node: exp.Expr, reading: Reading) -> dict[str, str]:
        return {each.this.name: each.expression.name for each in node.expressions}


class _Defining(Query):
    """The query of a materialized table, with blanks before it, so that positions are the user's."""

    example = "query"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        query = super().parse(parser)
        if query is None:
            raise parser.refusal("A materialized table is defined by a query", remedy="Write AS and a SELECT.")
        if (parameter := parser.parameter_within(query)) is not None:
            problem = "The query of a materialized table cannot contain parameters"
            raise parser.refusal(problem, parameter, "Write the values.")
        return query

    def value(self, node: exp.Expr, reading: Reading) -> str:
        return blanked(reading.source[: span(node).start]) + reading.text(node)


class _Database(Slot):
    """The name of a database; its catalog is by default the current one."""

    what = "the name of a database"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        return parser.parts()

    def value(self, node: exp.Expr, reading: Reading) -> TableName | None:
        names = names_of(node) or ()
        return names if len(names) > 1 else (reading.context.current_catalog, *names)


SLOTS |= {
    "key_columns": _Columns(),
    "freshness": _Freshness(),
    "values": _Values(),
    "defining": _Defining(),
    "database": _Database(),
}


@declared(
    "CREATE [<or_alter: OR ALTER>] MATERIALIZED TABLE! [<if_not_exists: IF NOT EXISTS>] {table:new_table}"
    " [{schema:key_columns}] (* [COMMENT {comment:string}] [PARTITIONED BY {partitions:names}]"
    " [WITH|TBLPROPERTIES {options}] [FRESHNESS =? {freshness}]"
    " [REFRESH_MODE =? <refresh_mode: CONTINUOUS | FULL>] *) AS {query:defining}"
)
@dataclass(frozen=True)
class CreateMaterializedTable(Statement):
    """CREATE MATERIALIZED TABLE .. AS.

    Attributes:
        query: the query in Spark's grammar, with the user's lines and columns.
        columns: names of the query's columns, in the order of the table; empty for the query's order.
        column_comments: comments by column.
        primary_key: the key columns; empty for an append table.
        freshness: the max age of the rows: a number, and its unit in the singular.
        refresh_mode: by default the freshness decides.
        or_alter: whether an existing table gets the query, freshness, mode and options.
    """

    SPARK_PARSES = True
    table: TableName
    query: str
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

    @classmethod
    def of(cls, node: exp.Expr, reading: Reading) -> Statement | None:
        statement, schema = super().of(node, reading), node.args.get("schema")
        if not isinstance(statement, CreateMaterializedTable) or schema is None:
            return statement
        columns = [each for each in schema.expressions if isinstance(each, exp.ColumnDef)]
        keys = [each for each in schema.expressions if isinstance(each, exp.PrimaryKey)]
        return replace(
            statement,
            columns=tuple(each.name for each in columns),
            column_comments={each.name: each.constraints[0].kind.name for each in columns if each.constraints},
            primary_key=tuple(part.name for key in keys for part in key.expressions),
        )


@declared("ALTER MATERIALIZED TABLE {table:new_table} AS! {query:defining}")
@dataclass(frozen=True)
class ChangeMaterializedQuery(Statement):
    """ALTER MATERIALIZED TABLE .. AS; the query as in `CreateMaterializedTable`."""

    SPARK_PARSES = True
    table: TableName
    query: str


@rewrites(CreateMaterializedTable.NODE)
@rewrites(ChangeMaterializedQuery.NODE)
def with_query(node: exp.Expr, reading: Reading) -> Outcome | None:
    """Carry a statement whose query Spark's parser checks, with blanks before it."""
    cls = CreateMaterializedTable if isinstance(node, CreateMaterializedTable.NODE) else ChangeMaterializedQuery
    statement = cls.of(node, reading)
    if not isinstance(statement, CreateMaterializedTable | ChangeMaterializedQuery):
        return None
    start, query = span(node).start, span(node.args["query"]).start
    return Carried(statement, spark_parses=True, plain=[Edit(start, query, statement.query[start:query])])


@declared("ALTER MATERIALIZED TABLE {table:new_table} SUSPEND!")
@dataclass(frozen=True)
class SuspendMaterializedTable(Statement):
    """ALTER MATERIALIZED TABLE .. SUSPEND."""

    table: TableName


@declared("ALTER MATERIALIZED TABLE {table:new_table} RESUME! [WITH {options}]")
@dataclass(frozen=True)
class ResumeMaterializedTable(Statement):
    """ALTER MATERIALIZED TABLE .. RESUME; the options are added to the table."""

    table: TableName
    options: Options = field(default_factory=dict)


@declared("ALTER MATERIALIZED TABLE {table:new_table} REFRESH! [PARTITION {partition:values}]")
@dataclass(frozen=True)
class RefreshMaterializedTable(Statement):
    """ALTER MATERIALIZED TABLE .. REFRESH of all rows, or of the partitions with these values."""

    table: TableName
    partition: Options = field(default_factory=dict)


@declared("DROP MATERIALIZED TABLE! [<if_exists: IF EXISTS>] {table:new_table}")
@dataclass(frozen=True)
class DropMaterializedTable(Statement):
    """DROP MATERIALIZED TABLE."""

    table: TableName
    if_exists: bool = False


@declared("SHOW MATERIALIZED TABLES! [FROM|IN {database}] [LIKE {pattern:string}]")
@dataclass(frozen=True)
class ShowMaterializedTables(Statement):
    """SHOW MATERIALIZED TABLES of a database, or of those whose names match the pattern."""

    database: TableName
    pattern: str | None = None

    @classmethod
    def of(cls, node: exp.Expr, reading: Reading) -> Statement | None:
        context, named, pattern = reading.context, node.args.get("database"), node.args.get("pattern")
        current = (context.current_catalog, context.current_database)
        database = current if named is None else cls.SLOTS["database"].value(named, reading)
        return cls(database, pattern and pattern.name) if database[0] in context.catalogs else None


@declared("SHOW CREATE MATERIALIZED TABLE! {table:new_table}")
@dataclass(frozen=True)
class ShowCreateMaterializedTable(Statement):
    """SHOW CREATE MATERIALIZED TABLE."""

    table: TableName


@reads("CREATE", "OR", "REPLACE", "MATERIALIZED", "TABLE")
def replaced(parser: PaimonParser) -> None:
    """Refuse to replace a materialized table."""
    parser.advance_into()
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
