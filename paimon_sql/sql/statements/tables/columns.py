"""Columns of a table definition, and their edits to Spark's form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from paimon_sql.format.schema.types import DataType
from paimon_sql.sql.dialect.column_definitions import ExactType
from paimon_sql.sql.dialect.nodes import MetadataColumn, Span, span
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.types import is_exact, spark_type


@dataclass
class Column:
    """A column as the user wrote it.

    Attributes:
        node: the whole definition.
        type: its type, with nullability; None if Paimon has no such type, and Spark reports the error.
        foreign: whether Spark does not know the spelling of the type.
        is_key: whether the definition has PRIMARY KEY.
        unstored: ``computed`` or ``metadata`` for a column of Flink that a table does not store; else None.
        edits: the edits to Spark's form.
    """

    node: exp.ColumnDef
    type: DataType | None = None
    foreign: bool = False
    is_key: bool = False
    comment: str | None = None
    unstored: str | None = None
    edits: list[Edit] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name."""
        return self.node.name

    @property
    def is_exact(self) -> bool:
        """Whether Spark's declaration alone determines the exact type."""
        return self.type is None or is_exact(self.type)


def columns_of(schema: exp.Schema, text: str, spark_style: bool) -> list[Column]:
    """The columns of a definition.

    Args:
        schema: the definition.
        text: the whole statement.
        spark_style: whether spellings that Spark knows stay unchanged.
    """
    return [_column(node, text, spark_style) for node in schema.expressions if isinstance(node, exp.ColumnDef)]


def _column(node: exp.ColumnDef, text: str, spark_style: bool) -> Column:
    column = Column(node)
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
        elif isinstance(what, exp.ComputedColumnConstraint | MetadataColumn):
            column.unstored = "metadata" if isinstance(what, MetadataColumn) else "computed"
        elif isinstance(what, exp.CommentColumnConstraint):
            column.comment = what.name
    if isinstance(kind, ExactType):
        column.type = kind.paimon.as_nullable(nullable)
        column.foreign = column.foreign or kind.meta["foreign"]
        extent, spark = span(kind), spark_type(kind.paimon)
        same = _squeezed(text[extent.start : extent.end]) == _squeezed(spark)
        if not same and (kind.meta["foreign"] or not spark_style):
            column.edits.append(Edit(*extent, spark))
    return column


def _squeezed(type_text: str) -> str:
    return "".join(type_text.split()).upper()


def _without(text: str, extent: Span) -> Edit:
    """Remove a part, with the space before it."""
    return Edit(len(text[: extent.start].rstrip(" \t")), extent.end, "")


def without_elements(spans: Sequence[Span], removed: Sequence[Span]) -> list[Edit]:
    """The edits that remove elements of a list with their commas; at least one element must remain."""
    edits: list[Edit] = []
    follows_retained = False
    for i, extent in enumerate(spans):
        if extent not in removed:
            follows_retained = True
        elif follows_retained:
            edits.append(Edit(spans[i - 1].end, extent.end, ""))
        else:
            edits.append(Edit(extent.start, spans[i + 1].start, ""))
    return edits
