"""Kinds of slots of declared statements: how their contents are parsed, generated and documented."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from paimon_sql.sql.context import Reading, names_of
from paimon_sql.sql.dialect.generator import Write
from paimon_sql.sql.dialect.parser import PaimonParser

READS = ("SELECT|WITH|VALUES|TABLE|FROM|MAP|REDUCE|(",)
"""First words of queries."""


@dataclass(frozen=True)
class Slot:
    """A kind of slot.

    Attributes:
        what: the noun phrase for errors where the contents are missing; ``{}`` is the slot's name.
        parse: parses the contents; None if they do not fit.
        value: the value of a node in the statement's data, by default its text; None for another catalog's table.
        example: the usage to show, by default the slot's name.
        sql: generates a node.
    """

    what: str
    parse: Callable[[PaimonParser], exp.Expr | None]
    value: Callable[[Any, Reading], object] = lambda node, reading: reading.text(node)
    example: str = "{}"
    sql: Write = lambda generator, node: generator.sql(node)


def name_in(node: exp.Expr, _: Reading) -> str:
    """The name or string of a node."""
    return node.name


def each_name(node: exp.Expr, _: Reading) -> tuple[str, ...]:
    """The names in a list."""
    return tuple(each.name for each in node.expressions)


def _name_or_literal(parser: PaimonParser) -> exp.Expr | None:
    return parser.identifier(TokenType.STRING, TokenType.NUMBER)


SLOTS: dict[str, Slot] = {
    **dict.fromkeys(("tag", "branch"), Slot("the name of a {}", _name_or_literal, name_in)),
    "new_name": Slot("the new name", _name_or_literal, name_in),
    "word": Slot("a {}", PaimonParser.identifier, name_in),
    "names": Slot("column names in parentheses", PaimonParser.names_in_brackets, each_name, "(a, b)"),
    "list": Slot(
        "names",
        PaimonParser.name_list,
        each_name,
        "a, b",
        lambda generator, node: ", ".join(map(generator.sql, node.expressions)),
    ),
    "table": Slot("the name of a {}", PaimonParser.table_name, lambda node, reading: reading.table(node)),
    "new_table": Slot(
        "the name of a {}",
        PaimonParser.table_name,
        lambda node, reading: reading.context.resolve_new_table(names_of(node)),
    ),
    "string": Slot("a string in quotes", PaimonParser.string, name_in, "'{}'"),
    "number": Slot("the ID of a {}", PaimonParser.whole_number, lambda node, _: int(node.name)),
    "options": Slot("options in parentheses", PaimonParser.options, lambda node, _: node.values, "('key' = 'value')"),
}
"""Slots by kind, as named in lines of grammar; modules of statements add theirs. A new table may be missing; the name
of another table must be one of Paimon's, or the statement is left to Spark."""
