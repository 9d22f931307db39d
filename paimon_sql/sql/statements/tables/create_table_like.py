"""CREATE TABLE .. LIKE, for all versions of Spark."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp
from sqlglot.generator import Generator

from paimon_sql.sql.carried_statements import Options as OptionMap
from paimon_sql.sql.carried_statements import Statement
from paimon_sql.sql.context import Reading, TableName, names_of
from paimon_sql.sql.dialect.nodes import Names, Options, span
from paimon_sql.sql.dialect.parser import PaimonParser, reads
from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.grammar.slots import SLOTS, NameList, Table
from paimon_sql.sql.statements.base import declared

_PAIMON = "PAIMON"
_FEATURE = "EXCLUDING|INCLUDING|OVERWRITING"


class _Source(Table):
    """A table of any catalog."""

    what = "a table"

    def value(self, node: exp.Expr, reading: Reading) -> TableName | None:
        names = names_of(node)
        return reading.context.full_name(names) if names else None


class _Features(NameList):
    """``(EXCLUDING OPTIONS INCLUDING CONSTRAINTS)``, as Flink writes it."""

    what = "features in parentheses"
    example = "(EXCLUDING OPTIONS)"

    def parse(self, parser: PaimonParser) -> Names | None:
        if not parser.sees("(", _FEATURE) or (inside := parser.bracket()) is None:
            return None
        parser.advance_into()
        found: list[exp.Expr] = []
        while parser.sees(_FEATURE) and parser.index + 1 < inside[1]:
            verb = parser.word
            parser.advance_into()
            found.append(exp.Var(this=f"{verb} {parser.word}"))
            parser.advance_into()
        if parser.index != inside[1]:
            raise parser.refusal("Expected EXCLUDING, INCLUDING or OVERWRITING and a feature", parser.token)
        parser.advance_into()
        return Names(expressions=found)

    def sql(self, generator: Generator, node: exp.Expr) -> str:
        return f"({' '.join(each.name for each in node.expressions)})"


SLOTS |= {"source": _Source(), "features": _Features()}


@declared(
    "CREATE TABLE [<if_not_exists: IF NOT EXISTS>] {table:new_table} [WITH|TBLPROPERTIES {given:options}]"
    " LIKE! {source}"
    " (* [WITH|TBLPROPERTIES {options}] [USING {provider:word}] [LOCATION {location:string}] [{features}] *)"
)
@dataclass(frozen=True)
class CreateTableLike(Statement):
    """CREATE TABLE .. LIKE; ``options`` override those of the source.

    ``features`` are Flink's, such as ``EXCLUDING OPTIONS``.
    """

    table: TableName
    source: TableName
    if_not_exists: bool = False
    options: OptionMap = field(default_factory=dict)
    features: tuple[str, ...] = ()
    provider: str | None = None
    location: str | None = None

    @classmethod
    def of(cls, node: exp.Expr, reading: Reading) -> Statement | None:
        statement, context, source = super().of(node, reading), reading.context, node.args["source"]
        if not isinstance(statement, CreateTableLike):
            return None
        if statement.table[0] in context.shared_catalogs:
            provider = (statement.provider or _PAIMON).upper()
            is_paimons = reading.table(source) is not None
            if statement.provider and provider == _PAIMON and not is_paimons:
                remedy = "Use CREATE TABLE .. USING paimon AS SELECT .. WHERE false."
                start, end = span(source)
                problem = "A Paimon table cannot be created LIKE a table of another format."
                raise SqlSyntaxError(problem, text=reading.source, start=start, end=end, remedy=remedy)
            if not is_paimons or provider != _PAIMON:
                return None
        given = node.args.get("given")
        defaults = given.values if isinstance(given, Options) else {}
        return replace(statement, options={**defaults, **statement.options})


@reads("CREATE", "TABLE")
def columns_beside(parser: PaimonParser) -> None:
    """Refuse columns in CREATE TABLE .. LIKE."""
    parser.accept("CREATE", "TABLE")
    parser.accept("IF", "NOT", "EXISTS")
    table = parser.table_name()
    if table is None or not parser.sees("("):
        return
    parser.step()
    if parser.accept("WITH|TBLPROPERTIES"):
        parser.step()
    if parser.sees("LIKE"):
        problem, remedy = "CREATE TABLE LIKE cannot define columns", "Add them with ALTER TABLE."
        raise parser.refusal(problem, remedy=remedy, about=table)
