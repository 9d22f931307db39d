"""Interpretation of a statement's nodes: their SQL text, and their names in a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from paimon_sql.sql.context import RewriteContext, TableName
from paimon_sql.sql.dialect.nodes import Parts, Verbatim, span
from paimon_sql.sql.text.edits import Edit, apply
from paimon_sql.sql.text.names import parts_in


@dataclass(frozen=True)
class Reading:
    """The SQL text and the resolved names of nodes.

    Attributes:
        source: the statement's text.
        context: the session.
        edits: the edits of Paimon tables inside.
    """

    source: str
    context: RewriteContext
    edits: Sequence[Edit] = field(default=())

    def with_edits(self, edits: Sequence[Edit]) -> Reading:
        """A copy with further edits."""
        return replace(self, edits=(*self.edits, *edits))

    def text(self, node: exp.Expr) -> str:
        """A node's text in Spark's grammar."""
        return self.part(*span(node))

    def part(self, start: int, end: int) -> str:
        """``source[start:end]`` in Spark's grammar."""
        return apply(self.source, self.edits, start, end)

    def table(self, node: exp.Expr) -> TableName | None:
        """The full name of a Paimon table; None if it is another catalog's."""
        return self.context.table(names_of(node))

    def new_table(self, node: exp.Expr) -> TableName | None:
        """The full name of a table that may be missing; None if its catalog is not Paimon's."""
        return self.context.resolve_new_table(names_of(node))


def names_of(node: exp.Expr) -> tuple[str, ...] | None:
    """The parts of a name; None if it is computed."""
    if isinstance(node, Parts):
        return tuple(part.name for part in node.expressions)
    if isinstance(node, exp.Identifier):
        return (node.name,)
    if isinstance(node, Verbatim):
        return parts_in(node.name)
    this = node.this if isinstance(node, exp.Table) else None
    if isinstance(this, exp.Func):  # IDENTIFIER('db.t')
        arguments = [each for each in this.iter_expressions() if isinstance(each, exp.Literal) and each.is_string]
        return parts_in(arguments[0].name) if len(arguments) == 1 else None
    if isinstance(node, exp.Table | exp.Column):
        return tuple(part.name for part in node.parts)
    if isinstance(node, exp.Dot):
        return tuple(part.name for part in node.parts)
    return None
