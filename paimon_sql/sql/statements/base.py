"""Statements that Python executes, as data; and how they are declared.

A statement that Spark's own rules cannot execute on our tables is read into a node of a tree, and that into one of
these classes, which a CALL hands to Spark (see ``carry``). Expressions and queries inside stay SQL text, for Spark to
parse when the statement is executed; a table is its full name, catalog first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeVar

from sqlglot import exp

from paimon_sql.sql.context import TableName
from paimon_sql.sql.dialect.errors import RefusedError
from paimon_sql.sql.dialect.parser import PaimonParser
from paimon_sql.sql.dialect.registry import reads, writes
from paimon_sql.sql.dialect.slots import Slot
from paimon_sql.sql.dialect.syntax import Found, Named, Series, compiled
from paimon_sql.sql.outcome import Carried, rewrites
from paimon_sql.sql.reading import Reading

Options = Mapping[str, str]


class Node:
    """A part of a statement that is written to JSON under the name of its class."""


@dataclass(frozen=True)
class Statement(Node):
    """A statement that Python executes.

    Attributes:
        SPARK_PARSES: Spark's parser knows the statement, so that it can be asked for the errors inside it.
        NODE: the class of its nodes in trees.
        SLOTS: its slots by their names.
        GRAMMARS: the ways to write it.
    """

    SPARK_PARSES: ClassVar[bool] = False
    NODE: ClassVar[type[exp.Expr]]
    SLOTS: ClassVar[Mapping[str, Slot]] = {}
    GRAMMARS: ClassVar[Sequence[Series]] = ()

    @classmethod
    def of(cls, node: exp.Expr, reading: Reading) -> Statement | None:
        """The data that a node stands for; None where it is about a table of another catalog's."""
        given: dict[str, Any] = {}
        for name in (f.name for f in fields(cls) if node.args.get(f.name) is not None):
            value = node.args[name]
            given[name] = cls.SLOTS[name].value(value, reading) if name in cls.SLOTS else value
            if given[name] is None:
                return None
        return cls(**given)


@dataclass(frozen=True)
class RowChange(Statement):
    """A statement that changes rows of ``table``.

    ``text`` is the whole of it in Spark's own grammar, every word at the line and column where the user wrote it; it
    is filled in when the statement is carried.
    """

    table: TableName
    text: str = field(default="", compare=False, kw_only=True)


S = TypeVar("S", bound=Statement)
_declared: list[type[Statement]] = []


def declared_statements() -> list[type[Statement]]:
    """The statements whose grammar is declared, those of a module one behind the other."""
    return list(_declared)


def declared(*lines: str, refusals: Mapping[str, tuple[str, str]] | None = None) -> Callable[[type[S]], type[S]]:
    """Give a class of statements its grammar (see ``syntax``).

    What the lines note are the class's fields, and the arguments of its node.

    Args:
        lines: the ways to write it.
        refusals: by words that may not stand behind it why not, and what to do instead.
    """
    grammars = [compiled(line) for line in lines]

    def declare(cls: type[S]) -> type[S]:
        noted = {part.name: part for grammar in grammars for part in grammar.noted()}
        node = type(cls.__name__, (exp.Expression,), {"arg_types": dict.fromkeys(noted, False), "__doc__": cls.__doc__})
        cls.NODE, cls.GRAMMARS = node, grammars
        _declared.append(cls)
        cls.SLOTS = {name: part.slot for name, part in noted.items() if not isinstance(part, Named)}
        for line, grammar in zip(lines, grammars, strict=True):
            reads(*_first_words(line))(_reader(grammar, node, refusals or {}))
        rewrites(node)(lambda made, reading: _carried(cls, made, reading))
        writes(node)(lambda generator, written: next(filter(None, (g.sql(generator, written) for g in grammars))))
        return cls

    return declare


def _carried(cls: type[Statement], node: exp.Expr, reading: Reading) -> Carried | None:
    statement = cls.of(node, reading)
    return None if statement is None else Carried(statement, spark_parses=cls.SPARK_PARSES)


def _first_words(line: str) -> tuple[str, ...]:
    """The words that a line begins with, up to the first slot or part that may be missing."""
    words: list[str] = []
    for word in line.replace("!", " ").split():
        if word[0] in "[{<(":
            break
        words.append(word)
    return tuple(words)


def _too_much(parser: PaimonParser, refusals: Mapping[str, tuple[str, str]]) -> RefusedError:
    for words, (problem, remedy) in refusals.items():
        if parser.sees(*words.split()):
            return parser.refusal(problem, remedy=remedy)
    return parser.refusal("Nothing more is expected here")


def _reader(
    grammar: Series, node: type[exp.Expr], refusals: Mapping[str, tuple[str, str]]
) -> Callable[[PaimonParser], exp.Expr | None]:
    def read(parser: PaimonParser) -> exp.Expr | None:
        found: Found = {}
        try:
            if not grammar.parse(parser, found):
                return None
            if parser.token and grammar.is_whole:
                raise _too_much(parser, refusals)
        except RefusedError as error:
            error.about = found.get("table") or found.get("function")
            error.remedy = error.remedy or f"Write {grammar.told()}."
            raise
        return None if parser.token else node(**found)

    return read
