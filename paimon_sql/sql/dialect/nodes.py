"""Tree nodes that sqlglot does not have, and positions of nodes.

A node's position is in its ``meta``, as in sqlglot: ``start`` and ``end`` are the offsets of its first and last
character.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from sqlglot import exp

E = TypeVar("E", bound=exp.Expr)


class Span(NamedTuple):
    """A part of a text; ``end`` is exclusive."""

    start: int
    end: int


def span(node: exp.Expr) -> Span:
    """The position of a node in the text."""
    return Span(node.meta["start"], node.meta["end"] + 1)


class Verbatim(exp.Expression):
    """Unparsed text: ``this`` is the text, ``expressions`` are the Paimon tables inside."""

    arg_types = {"this": True, "expressions": False}


class Options(exp.Expression):
    """Options in brackets, each an `exp.Property`."""

    arg_types = {"expressions": False}

    @property
    def values(self) -> dict[str, str]:
        """The values by their keys."""
        return {p.name: p.args["value"].name for p in self.expressions}


class Travel(exp.Version):
    """The suffix of a table's name: option lists, time travel, or both.

    ``meta["travels_to"]`` is the offset of the last character of the time travel; None without one.
    """

    arg_types = {"this": False, "kind": False, "expression": False, "options": False}


def option_lists(table: exp.Expr | None) -> list[Options]:
    """The option lists of a table."""
    travel = table.args.get("version") if table is not None else None
    return travel.args.get("options") or [] if isinstance(travel, Travel) else []


def options_of(table: exp.Expr) -> dict[str, str]:
    """The options of a table; the last value of a repeated key."""
    return {key: value for each in option_lists(table) for key, value in each.values.items()}


class Incremental(exp.Anonymous):
    """A call of a table function that reads a change range; its arguments are a table and the bounds."""


class Parts(exp.Expression):
    """A name of several parts, each an identifier."""

    arg_types = {"expressions": True}


class Names(exp.Expression):
    """Names in brackets."""

    arg_types = {"expressions": True}


class MetadataColumn(exp.Expression, exp.ColumnConstraintKind):
    """METADATA of a column in Flink: the column is not stored; ``this`` is the key after FROM."""

    arg_types = {"this": False, "virtual": False}


class Explain(exp.Expression):
    """EXPLAIN of a statement; ``mode`` is Spark's keyword."""

    arg_types = {"this": True, "mode": False}


class Script(exp.Expression):
    """``BEGIN .. END``: its text, the statements of the dialect in it, and the Paimon tables in the rest."""

    arg_types = {"this": True, "expressions": False, "relations": False}
