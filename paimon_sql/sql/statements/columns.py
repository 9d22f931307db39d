"""The columns of a table definition, and the edits that make them Spark's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from paimon_sql.format.types import DataType
from paimon_sql.sql.dialect.nodes import Span, span
from paimon_sql.sql.dialect.types import ExactType
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.types import is_exact, spark_type


@dataclass
class Column:
    """A column as it was written.

    Attributes:
        span: the whole definition.
        type: its type, with its nullability; None where Paimon has no type of that name and Spark must judge.
        foreign: the type's spelling is one that Spark does not know.
        is_key: PRIMARY KEY stands beside it.
        position: ``("FIRST", None)``, ``("AFTER", name)`` or None.
        edits: what makes the definition Spark's.
    """

    name: str
    span: Span
    type: DataType | None = None
    foreign: bool = False
    is_key: bool = False
    comment: str | None = None
    position: tuple[str, str | None] | None = None
    edits: list[Edit] = field(default_factory=list)

    @property
    def is_exact(self) -> bool:
        """Whether Spark's declaration alone says the exact type."""
        return self.type is None or is_exact(self.type)


def columns_of(schema: exp.Schema, text: str, spark_style: bool) -> list[Column]:
    """The columns of a definition.

    Args:
        schema: the definition.
        text: the whole statement.
        spark_style: whether spellings that Spark knows stay as they are.
    """
    return [_column(node, text, spark_style) for node in schema.expressions if isinstance(node, exp.ColumnDef)]


def keys_of(schema: exp.Schema) -> list[exp.PrimaryKey]:
    """The PRIMARY KEY constraints of a definition."""
    return [node for node in schema.expressions if isinstance(node, exp.PrimaryKey)]


def _column(node: exp.ColumnDef, text: str, spark_style: bool) -> Column:
    column = Column(node.name, span(node))
    kind = node.args.get("kind")
    nullable = True
    for constraint in node.constraints:
        what = constraint.args.get("kind")
        if isinstance(what, exp.PrimaryKeyColumnConstraint):
            column.is_key = True
            column.edits.append(_without(text, span(constraint)))
        elif isinstance(what, exp.NotNullColumnConstraint):
            nullable = bool(what.args.get("allow_null"))
            if nullable:
                column.foreign = True
                column.edits.append(_without(text, span(constraint)))
        elif isinstance(what, exp.CommentColumnConstraint):
            column.comment = what.name
    if position := node.args.get("position"):
        column.position = (position.args["position"], position.name or None)
    if isinstance(kind, ExactType):
        column.type = kind.paimon.as_nullable(nullable)
        column.foreign = column.foreign or kind.meta["foreign"]
        place, spark = span(kind), spark_type(kind.paimon)
        same = _squeezed(text[place.start : place.end]) == _squeezed(spark)
        if not same and (kind.meta["foreign"] or not spark_style):
            column.edits.append(Edit(*place, spark))
    return column


def _squeezed(type_text: str) -> str:
    return "".join(type_text.split()).upper()


def _without(text: str, place: Span) -> Edit:
    """Take a part out, with the space before it."""
    start = place.start
    while start > 0 and text[start - 1] in " \t":
        start -= 1
    return Edit(start, place.end, "")


def without_elements(spans: Sequence[Span], gone: Sequence[Span]) -> list[Edit]:
    """The edits that take elements out of a list with the commas that they no longer need; not for the whole list."""
    edits: list[Edit] = []
    kept_before = False
    for i, place in enumerate(spans):
        if place not in gone:
            kept_before = True
        elif kept_before:
            edits.append(Edit(spans[i - 1].end, place.end, ""))
        else:
            edits.append(Edit(place.start, spans[i + 1].start, ""))
    return edits
