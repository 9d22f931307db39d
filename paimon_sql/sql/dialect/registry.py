"""The statements that Paimon's dialect adds to sqlglot's Spark, by their first word; families of statements fill it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

if TYPE_CHECKING:
    from sqlglot.generator import Generator

    from paimon_sql.sql.dialect.parser import PaimonParser

Read = Callable[["PaimonParser"], exp.Expr | None]
"""Reads a statement; None where it is another one, and the parser may stand anywhere."""
Write = Callable[["Generator", Any], str]

READERS: dict[str, list[tuple[tuple[str, ...], Read]]] = {}
"""By the first word the words that a statement begins with, each perhaps a choice ``A|B``, and what reads it."""
WRITERS: dict[type[exp.Expr], Callable[..., str]] = {}
"""What writes nodes that sqlglot has none for, in Spark's form and in ours."""


def reads(*words: str) -> Callable[[Read], Read]:
    """Register what reads the statements that begin with these words."""

    def register(read: Read) -> Read:
        for first in words[0].split("|"):
            READERS.setdefault(first, []).append((words, read))
        return read

    return register


def writes(*nodes: type[exp.Expr]) -> Callable[[Write], Write]:
    """Register what writes nodes of some classes."""

    def register(write: Write) -> Write:
        WRITERS.update(dict.fromkeys(nodes, write))
        return write

    return register


def readers(word: str) -> Sequence[tuple[tuple[str, ...], Read]]:
    """What reads statements that begin with a word in upper case."""
    return READERS.get(word, ())
