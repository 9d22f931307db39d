"""CREATE TABLE .. LIKE, for all versions of Spark."""

from __future__ import annotations

from dataclasses import field, replace

from sqlglot import exp

from paimon_sql.sql.carried_statements import OfTable, Options, Statement
from paimon_sql.sql.context import Reading, TableName, names_of
from paimon_sql.sql.dialect.nodes import Names
from paimon_sql.sql.dialect.parser import PaimonParser, reads
from paimon_sql.sql.grammar import SLOTS, Slot, each_name
from paimon_sql.sql.statements.base import declared

_PAIMON = "PAIMON"
_FEATURE = "EXCLUDING|INCLUDING|OVERWRITING"


def _any_table(node: exp.Expr, reading: Reading) -> TableName | None:
    """The name of a table of any catalog."""
    names = names_of(node)
    return reading.context.full_name(names) if names else None


def _features(parser: PaimonParser) -> Names | None:
    """Parse ``(EXCLUDING OPTIONS INCLUDING CONSTRAINTS)``, as Flink writes it."""
    if not parser.sees("(", _FEATURE) or (close := parser.enter()) is None:
        return None
    found: list[exp.Expr] = []
    while parser.sees(_FEATURE) and parser.index + 1 < close:
        found.append(exp.Var(this=f"{parser.word()} {parser.word(1)}"))
        parser.move_to(parser.index + 2)
    parser.leave(close, "Expected EXCLUDING, INCLUDING or OVERWRITING and a feature")
    return Names(expressions=found)


SLOTS |= {
    "source": Slot("a table", PaimonParser.table_name, _any_table),
    "features": Slot(
        "features in parentheses",
        _features,
        each_name,
        "(EXCLUDING OPTIONS)",
        lambda _, node: f"({' '.join(each.name for each in node.expressions)})",
    ),
}


@declared(
    "CREATE TABLE [<if_not_exists: IF NOT EXISTS>] {table:new_table} [WITH|TBLPROPERTIES {given:options}]"
    " LIKE! {source}"
    " (* [WITH|TBLPROPERTIES {options}] [USING {provider:word}] [LOCATION {location:string}] [{features}] *)"
)
class CreateTableLike(OfTable):
    """CREATE TABLE .. LIKE; ``options`` override those of the source.

    ``features`` are Flink's, such as ``EXCLUDING OPTIONS``.
    """

    source: TableName
    if_not_exists: bool = False
    options: Options = field(default_factory=dict)
    features: tuple[str, ...] = ()
    provider: str | None = None
    location: str | None = None

    def completed(self, node: exp.Expr, reading: Reading) -> Statement | None:
        source, given = node.args["source"], node.args.get("given")
        if self.table[0] in reading.context.shared_catalogs:
            provider = (self.provider or _PAIMON).upper()
            is_paimons = reading.table(source) is not None
            if self.provider and provider == _PAIMON and not is_paimons:
                remedy = "Use CREATE TABLE .. USING paimon AS SELECT .. WHERE false."
                raise reading.error("A Paimon table cannot be created LIKE a table of another format.", source, remedy)
            if not is_paimons or provider != _PAIMON:
                return None
        return replace(self, options={**(given.values if given else {}), **self.options})


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
