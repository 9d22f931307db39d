"""A statement that is being read: its text, its tree, and what these mean in a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from paimon_sql.sql.context import RewriteContext, TableName
from paimon_sql.sql.dialect.nodes import Parts, Verbatim, span
from paimon_sql.sql.edits import Edit, apply
from paimon_sql.sql.names import parts_in


@dataclass(frozen=True)
class Reading:
    """What nodes of a text's tree mean (`slots.Reading`).

    Attributes:
        source: the text.
        context: the session.
        edits: what the tables of ours inside become.
    """

    source: str
    context: RewriteContext
    edits: Sequence[Edit] = field(default=())

    def with_edits(self, edits: Sequence[Edit]) -> Reading:
        """The same with further edits."""
        return replace(self, edits=(*self.edits, *edits))

    def text(self, node: exp.Expr) -> str:
        """A node's text as Spark's parser takes it."""
        return self.part(*span(node))

    def part(self, start: int, end: int) -> str:
        """A part of the text as Spark's parser takes it."""
        return apply(self.source, self.edits, start, end)

    def table(self, node: exp.Expr) -> TableName | None:
        """The full name of a table of Paimon's; None where it is another catalog's."""
        return self.context.table(names_of(node))

    def new_table(self, node: exp.Expr) -> TableName | None:
        """The same of a table that need not be there."""
        return self.context.to_be(names_of(node))


def names_of(node: exp.Expr) -> tuple[str, ...] | None:
    """The parts of a name of a table, a column or anything else; None where it is computed."""
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
