"""What can stand in a slot of a declared statement: how it is read, written, and told to people."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from sqlglot import exp
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from paimon_sql.sql.context import TableName
from paimon_sql.sql.dialect.nodes import Options
from paimon_sql.sql.reading import Reading

if TYPE_CHECKING:
    from sqlglot.generator import Generator

    from paimon_sql.sql.dialect.parser import PaimonParser

READS = ("SELECT|WITH|VALUES|TABLE|FROM|MAP|REDUCE|(",)
"""How queries begin."""


class Slot(ABC):
    """One kind of slot.

    Attributes:
        what: what is missing where nothing of the kind stands.
        example: what people are told to type there, where that is not its name.
    """

    what: str
    example: str | None = None

    @abstractmethod
    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        """Step over what stands there; None where it is nothing of the kind."""

    @abstractmethod
    def value(self, node: exp.Expr, reading: Reading) -> Any:
        """What a node means, as a statement's data hold it."""

    def sql(self, generator: Generator, node: exp.Expr) -> str:
        """A node as SQL."""
        return generator.sql(node)

    def told(self, name: str) -> str:
        """What people type there."""
        return self.example or name


class Name(Slot):
    """A single name; also a number or a text in quotes."""

    what = "the name of a {}"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        return parser.identifier(TokenType.STRING, TokenType.NUMBER)

    def value(self, node: exp.Expr, reading: Reading) -> str:
        return node.name


class NewName(Name):
    """Another name."""

    what = "the new name"


class Word(Name):
    """A single name."""

    what = "a {}"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        return parser.identifier()


class Names(Slot):
    """Names in brackets."""

    what = "names of columns in brackets"
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
    """The name of a table; a statement of another catalog's is not Paimon's."""

    what = "the name of a {}"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        return parser.table_name()

    def value(self, node: exp.Expr, reading: Reading) -> TableName | None:
        return reading.table(node)


class NewTable(Table):
    """The name of a table that need not be there."""

    def value(self, node: exp.Expr, reading: Reading) -> TableName | None:
        return reading.new_table(node)


class Text(Slot):
    """A text in quotes."""

    what = "a text in quotes"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        return parser.string()

    def value(self, node: exp.Expr, reading: Reading) -> str:
        return node.name

    def told(self, name: str) -> str:
        return f"'{name}'"


class Number(Slot):
    """A whole number."""

    what = "the number of a {}"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        return parser.whole_number()

    def value(self, node: exp.Expr, reading: Reading) -> int:
        return int(node.name)


class Choice(Slot):
    """A list of options in brackets."""

    what = "its options in brackets"
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

    def value(self, node: exp.Expr, reading: Reading) -> str:
        return reading.text(node)


class Rest(Query):
    """Whatever is left of the statement."""

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
"""The kinds by their names in lines of grammar; a family of statements may add its own."""
