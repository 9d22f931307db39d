"""Outcomes of a rewrite, and declarations of carried statements: a class of data, and lines of grammar."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple, TypeVar

from sqlglot import exp

from paimon_sql.sql.carried_statements import Statement
from paimon_sql.sql.context import Reading
from paimon_sql.sql.dialect.generator import writes
from paimon_sql.sql.dialect.parser import PaimonParser, reads
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.errors import RefusedError
from paimon_sql.sql.grammar import Found, Series, SlotPart, compiled

S = TypeVar("S", bound=Statement)
DECLARED: list[type[Statement]] = []
"""The declared statements, grouped by module."""


def declared(*lines: str, refusals: Mapping[str, tuple[str, str]] | None = None) -> Callable[[type[S]], type[S]]:
    """Declare the grammar of a statement class (see ``grammar``).

    The slots and flags of the lines are fields of the class, and arguments of its node.

    Args:
        lines: one line of grammar per spelling.
        refusals: problem and remedy by words that must not follow the statement.
    """
    grammars = [compiled(line) for line in lines]

    def declare(cls: type[S]) -> type[S]:
        noted = {part.name: part for grammar in grammars for part in grammar.noted()}
        node = type(cls.__name__, (exp.Expression,), {"arg_types": dict.fromkeys(noted, False), "__doc__": cls.__doc__})
        cls.NODE, cls.GRAMMARS = node, grammars
        DECLARED.append(cls)
        cls.SLOTS = {name: part.slot for name, part in noted.items() if isinstance(part, SlotPart)}
        for line, grammar in zip(lines, grammars, strict=True):
            reads(*_first_words(line))(_reader(grammar, node, refusals or {}))
        rewrites(node)(lambda parsed, reading: _carried(cls, parsed, reading))
        writes(node)(lambda generator, written: next(filter(None, (g.sql(generator, written) for g in grammars))))
        return cls

    return declare


def _carried(cls: type[Statement], node: exp.Expr, reading: Reading) -> Carried | None:
    plain = cls.plain_edits(node, reading)
    statement = cls.of(node, reading.with_edits(plain))
    return None if statement is None else Carried(statement, plain)


def _first_words(line: str) -> tuple[str, ...]:
    """The words of a line before its first slot or optional part."""
    return tuple(takewhile(lambda word: word[0] not in "[{<(", line.replace("!", " ").split()))


def _trailing_error(parser: PaimonParser, refusals: Mapping[str, tuple[str, str]]) -> RefusedError:
    for words, (problem, remedy) in refusals.items():
        if parser.sees(*words.split()):
            return parser.refusal(problem, remedy=remedy)
    return parser.refusal("Expected the end of the statement")


def _reader(
    grammar: Series, node: type[exp.Expr], refusals: Mapping[str, tuple[str, str]]
) -> Callable[[PaimonParser], exp.Expr | None]:
    def read(parser: PaimonParser) -> exp.Expr | None:
        found: Found = {}
        try:
            if not grammar.parse(parser, found):
                return None
            if parser.token and grammar.is_whole:
                raise _trailing_error(parser, refusals)
        except RefusedError as error:
            about = found.get("table") or found.get("function")
            error.about = about if isinstance(about, exp.Expr) else None
            error.remedy = error.remedy or f"Write {grammar.usage()}."
            raise
        return None if parser.token else node(**found)

    return read


class Carried(NamedTuple):
    """A carried statement.

    Attributes:
        statement: the statement that Python executes.
        plain: the edits that Spark's parser needs, besides those of queries; they replace edits that they overlap.
    """

    statement: Statement
    plain: Sequence[Edit] = ()


Outcome = list[Edit] | Carried
Rewrite = Callable[[Any, Reading], Outcome | None]
"""The outcome of a node; None where Spark takes it unchanged."""

REWRITES: dict[type[exp.Expr], Rewrite] = {}
"""Rewrites by the class of the statement's node."""


def rewrites(node: type[exp.Expr]) -> Callable[[Rewrite], Rewrite]:
    """Register the rewrite of a class of nodes."""

    def register(rewrite: Rewrite) -> Rewrite:
        REWRITES[node] = rewrite
        return rewrite

    return register
