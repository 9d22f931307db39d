"""Reference page of the declared statements."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from itertools import groupby

from paimon_sql.sql.grammar.statement import Statement
from paimon_sql.sql.statements.base import declared_statements

_HEAD = (
    "# Statements",
    "",
    "The statements that Spark has no words for, or cannot execute on tables of Paimon's. What becomes of all others"
    " shows [SQL dialect](../sql-dialect.md). Small words stand for names and values; `[..]` may be left out, and"
    " `A|B` is a choice.",
)


def statements_page() -> str:
    """The page: statements by module."""
    families = groupby(declared_statements(), key=lambda each: each.__module__)
    return "\n".join([*_HEAD, *(line for name, family in families for line in _section(name, list(family)))]) + "\n"


def _section(module: str, family: list[type[Statement]]) -> Iterator[str]:
    summary, *_ = (inspect.getdoc(sys.modules[module]) or "").split("\n\n")
    yield from ("", f"## {module.rpartition('.')[2].replace('_', ' ').capitalize()}", "", summary)
    for statement in family:
        yield from ("", "```", *(grammar.usage() for grammar in statement.GRAMMARS), "```", "")
        summary, *_ = (inspect.getdoc(statement) or "").split("\n\n")
        yield summary.replace("``", "`")
