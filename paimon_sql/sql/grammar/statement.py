"""Carried statements as data.

A statement that Spark's rules cannot execute on Paimon tables is parsed into a node, and converted to one of these
classes, which a CALL carries (see ``carry``). Expressions and queries inside stay SQL text, which Spark parses at
execution; a table is its full name, catalog first.
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
    """A part of a statement, encoded in JSON under the name of its class."""


@dataclass(frozen=True)
class Statement(Node):
    """A statement that Python executes.

    Attributes:
        SPARK_PARSES: whether Spark's parser knows the statement and can find errors inside it.
        NODE: the class of its tree nodes.
        SLOTS: its slots by name.
        GRAMMARS: its grammars, one per spelling.
    """

    SPARK_PARSES: ClassVar[bool] = False
    NODE: ClassVar[type[exp.Expr]]
    SLOTS: ClassVar[Mapping[str, Slot]] = {}
    GRAMMARS: ClassVar[Sequence[Series]] = ()

    @classmethod
    def of(cls, node: exp.Expr, reading: Reading) -> Statement | None:
        """The statement of a node; None if its table is another catalog's."""
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

    ``text`` is the whole statement in Spark's grammar, with the user's lines and columns; the rewrite sets it.
    """

    table: TableName
    text: str = field(default="", compare=False, kw_only=True)
