"""Statements that Python executes, as data.

A statement that Spark's own rules cannot execute on our tables is read into a node of a tree, and that into one of
these classes, which a CALL hands to Spark (see ``carry``). Expressions and queries inside stay SQL text, for Spark to
parse when the statement is executed; a table is its full name, catalog first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from sqlglot import exp

from paimon_sql.sql.context import TableName
from paimon_sql.sql.grammar.slots import Slot
from paimon_sql.sql.grammar.syntax import Series
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
