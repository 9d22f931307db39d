"""Nodes of trees that sqlglot has none for, and their places in the text.

A node's place stands in its ``meta``, as in sqlglot: ``start`` is the offset of its first character, ``end`` that of
its last one.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from sqlglot import exp
from sqlglot.tokens import Token  # type: ignore[attr-defined]

E = TypeVar("E", bound=exp.Expr)


class Span(NamedTuple):
    """A part of a text, from ``start`` up to ``end``."""

    start: int
    end: int


def placed(node: E, first: Token, last: Token) -> E:
    """The node, which the tokens from ``first`` to ``last`` make up."""
    node.meta.update(start=first.start, end=last.end)
    return node


def span(node: exp.Expr) -> Span:
    """The place of a node in the text."""
    return Span(node.meta["start"], node.meta["end"] + 1)


class Verbatim(exp.Expression):
    """Text that stays as it stands: ``this`` is the text, ``expressions`` are the tables of ours inside."""

    arg_types = {"this": True, "expressions": False}


class Options(exp.Expression):
    """A list of options in brackets, each an `exp.Property` of a key and a value."""

    arg_types = {"expressions": False}

    @property
    def values(self) -> dict[str, str]:
        """The values by their keys."""
        return {p.name: p.args["value"].name for p in self.expressions}


class Travel(exp.Version):
    """What stands behind a table's name: the lists of its options, and which of its versions is read; one or both.

    ``meta["travels_to"]`` is the offset of the last character of the time travel, None where there is none.
    """

    arg_types = {"this": False, "kind": False, "expression": False, "options": False}


def option_lists(table: exp.Expr | None) -> list[Options]:
    """The lists of options that stand behind a table."""
    travel = table.args.get("version") if table is not None else None
    return travel.args.get("options") or [] if isinstance(travel, Travel) else []


def options_of(table: exp.Expr) -> dict[str, str]:
    """The values of a table's options by their keys; of a key that is there twice, the last one."""
    return {key: value for each in option_lists(table) for key, value in each.values.items()}


class Incremental(exp.Anonymous):
    """A call of a table function that reads a range of changes: a table and the bounds."""


class Parts(exp.Expression):
    """A name of several parts, each an identifier."""

    arg_types = {"expressions": True}


class Names(exp.Expression):
    """Names in brackets."""

    arg_types = {"expressions": True}


class Explain(exp.Expression):
    """EXPLAIN of a statement; ``mode`` is what it tells, in Spark's words."""

    arg_types = {"this": True, "mode": False}


class Script(exp.Expression):
    """``BEGIN .. END``: its text, the statements of ours in it, and the tables of ours in the rest."""

    arg_types = {"this": True, "expressions": False, "relations": False}
