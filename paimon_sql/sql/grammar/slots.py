"""Kinds of slots of declared statements: how their contents are parsed, generated and documented."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from sqlglot import exp
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from paimon_sql.sql.context import Reading, TableName, names_of
from paimon_sql.sql.dialect.nodes import Options

if TYPE_CHECKING:
    from sqlglot.generator import Generator

    from paimon_sql.sql.dialect.parser import PaimonParser

READS = ("SELECT|WITH|VALUES|TABLE|FROM|MAP|REDUCE|(",)
"""First words of queries."""


class Slot(ABC):
    """A kind of slot.

    Attributes:
        what: the noun phrase for errors where the contents are missing.
        example: the usage to show; by default the slot's name.
    """

    what: str
    example: str | None = None

    @abstractmethod
    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        """Parse the contents; None if they do not fit."""

    def value(self, node: exp.Expr, reading: Reading) -> Any:
        """The value of a node in the statement's data, by default its text; None for another catalog's table."""
        return reading.text(node)

    def sql(self, generator: Generator, node: exp.Expr) -> str:
        """Generate a node."""
        return generator.sql(node)

    def usage(self, name: str) -> str:
        """The text for usages."""
        return self.example or name


class Name(Slot):
    """A single name, number or string literal."""

    what = "the name of a {}"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        return parser.identifier(TokenType.STRING, TokenType.NUMBER)

    def value(self, node: exp.Expr, reading: Reading) -> str:
        return node.name


class NewName(Name):
    """A new name."""

    what = "the new name"


class Word(Name):
    """A single name only."""

    what = "a {}"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        return parser.identifier()


class Names(Slot):
    """Names in brackets."""

    what = "column names in parentheses"
    example = "(a, b)"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        return parser.names_in_brackets()

    def value(self, node: exp.Expr, reading: Reading) -> tuple[str, ...]:
        return tuple(each.name for each in node.expressions)


class NameList(Names):
    """Names without brackets."""

    what = "names"
    example = "a, b"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        return parser.name_list()

    def sql(self, generator: Generator, node: exp.Expr) -> str:
        return ", ".join(map(generator.sql, node.expressions))


class Table(Slot):
    """The name of a Paimon table; a statement about another catalog's is left to Spark."""

    what = "the name of a {}"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        return parser.table_name()

    def value(self, node: exp.Expr, reading: Reading) -> TableName | None:
        return reading.table(node)


class NewTable(Table):
    """The name of a table that may be missing."""

    def value(self, node: exp.Expr, reading: Reading) -> TableName | None:
        return reading.context.resolve_new_table(names_of(node))


class Text(Slot):
    """A string literal."""

    what = "a string in quotes"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        return parser.string()

    def value(self, node: exp.Expr, reading: Reading) -> str:
        return node.name

    def usage(self, name: str) -> str:
        return f"'{name}'"


class Number(Slot):
    """An integer without sign."""

    what = "the ID of a {}"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        return parser.whole_number()

    def value(self, node: exp.Expr, reading: Reading) -> int:
        return int(node.name)


class Choice(Slot):
    """Options in brackets."""

    what = "options in parentheses"
    example = "('key' = 'value')"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        return parser.options()

    def value(self, node: exp.Expr, reading: Reading) -> dict[str, str]:
        assert isinstance(node, Options)
        return node.values


class Query(Slot):
    """A query, up to the end of the statement."""

    what = "a query"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        return parser.query() if parser.sees(*READS) else None


class Rest(Query):
    """The rest of the statement."""

    what = "a definition"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        return parser.rest()


SLOTS: dict[str, Slot] = {
    "name": Name(),
    "tag": Name(),
    "branch": Name(),
    "new_name": NewName(),
    "word": Word(),
    "names": Names(),
    "list": NameList(),
    "table": Table(),
    "new_table": NewTable(),
    "string": Text(),
    "number": Number(),
    "options": Choice(),
    "query": Query(),
    "rest": Rest(),
}
"""Slots by kind, as named in lines of grammar; modules of statements add theirs."""
