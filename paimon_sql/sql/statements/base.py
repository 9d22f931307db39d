"""Declaration of carried statements: a class of data, and one line of grammar per spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from sqlglot import exp

from paimon_sql.sql.dialect.errors import RefusedError
from paimon_sql.sql.dialect.generator import writes
from paimon_sql.sql.dialect.parser import PaimonParser, reads
from paimon_sql.sql.grammar.statement import Statement
from paimon_sql.sql.grammar.syntax import Found, Named, Series, compiled
from paimon_sql.sql.outcome import Carried, rewrites
from paimon_sql.sql.reading import Reading

S = TypeVar("S", bound=Statement)
_declared: list[type[Statement]] = []


def declared_statements() -> list[type[Statement]]:
    """The declared statements, grouped by module."""
    return list(_declared)


def declared(*lines: str, refusals: Mapping[str, tuple[str, str]] | None = None) -> Callable[[type[S]], type[S]]:
    """Declare the grammar of a statement class (see ``syntax``).

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
        _declared.append(cls)
        cls.SLOTS = {name: part.slot for name, part in noted.items() if not isinstance(part, Named)}
        for line, grammar in zip(lines, grammars, strict=True):
            reads(*_first_words(line))(_reader(grammar, node, refusals or {}))
        rewrites(node)(lambda parsed, reading: _carried(cls, parsed, reading))
        writes(node)(lambda generator, written: next(filter(None, (g.sql(generator, written) for g in grammars))))
        return cls

    return declare


def _carried(cls: type[Statement], node: exp.Expr, reading: Reading) -> Carried | None:
    statement = cls.of(node, reading)
    return None if statement is None else Carried(statement, spark_parses=cls.SPARK_PARSES)


def _first_words(line: str) -> tuple[str, ...]:
    """The words of a line before its first slot or optional part."""
    words: list[str] = []
    for word in line.replace("!", " ").split():
        if word[0] in "[{<(":
            break
        words.append(word)
    return tuple(words)


def _trailing_error(parser: PaimonParser, refusals: Mapping[str, tuple[str, str]]) -> RefusedError:
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
                raise _trailing_error(parser, refusals)
        except RefusedError as error:
            error.about = found.get("table") or found.get("function")
            error.remedy = error.remedy or f"Write {grammar.usage()}."
            raise
        return None if parser.token else node(**found)

    return read
