"""The columns of a table definition: what the dialect reads, and the edits that make them Spark's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from paimon_sql.format.types import DataType
from paimon_sql.sql.dialect import Paimon, SparkStylePaimon
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.type_parser import PlacedError
from paimon_sql.sql.types import is_exact, spark_type


class Span(NamedTuple):
    """A part of the statement's text."""

    start: int
    end: int


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


@dataclass
class Key:
    """A PRIMARY KEY constraint of the table."""

    names: tuple[str, ...]
    span: Span


def read_columns(
    text: str, span: Span, *, wrapped: bool = True, spark_timestamps: bool = False
) -> tuple[list[Column], list[Key], list[Span]]:
    """Read the definitions in a part of a statement.

    Args:
        text: the whole statement.
        span: the part; with its brackets where ``wrapped``.
        wrapped: whether the brackets are there.
        spark_timestamps: whether TIMESTAMP has Spark's meaning, and spellings that Spark knows stay as they are.

    Returns:
        The columns, the key constraints, and the spans of all elements of the list in order.

    Raises:
        SqlSyntaxError: a definition cannot be read or cannot be kept.
    """
    fragment = text[span.start : span.end] if wrapped else f"({text[span.start : span.end]})"
    shift = span.start if wrapped else span.start - 1
    try:
        schema = sqlglot.parse_one(fragment, into=exp.Schema, dialect=SparkStylePaimon if spark_timestamps else Paimon)
    except SqlglotError as error:
        placed = error if isinstance(error, PlacedError) else error.__cause__  # sqlglot wraps what it cannot parse
        if isinstance(placed, PlacedError):
            start, end = placed.start + shift, placed.end + shift + 1
            raise SqlSyntaxError(f"{placed.problem}.", text=text, start=start, end=end, remedy=placed.remedy) from None
        problem = f"The columns cannot be read: {error}"
        raise SqlSyntaxError(problem, text=text, start=span.start, end=span.end) from None
    columns: list[Column] = []
    keys: list[Key] = []
    spans: list[Span] = []
    for node in schema.expressions:
        spans.append(_span(node, shift))
        if isinstance(node, exp.ColumnDef):
            columns.append(_column(node, text, shift, spark_timestamps))
        elif isinstance(node, exp.PrimaryKey):
            keys.append(Key(tuple(part.name for part in node.expressions), spans[-1]))
    return columns, keys, spans


def _span(node: exp.Expr, shift: int) -> Span:
    return Span(node.meta["start"] + shift, node.meta["end"] + shift + 1)


def _column(node: exp.ColumnDef, text: str, shift: int, spark_timestamps: bool) -> Column:
    column = Column(node.name, _span(node, shift))
    kind = node.args.get("kind")
    nullable = True
    for constraint in node.constraints:
        what = constraint.args.get("kind")
        if isinstance(what, exp.PrimaryKeyColumnConstraint):
            column.is_key = True
            column.edits.append(_without(text, _span(constraint, shift)))
        elif isinstance(what, exp.NotNullColumnConstraint):
            nullable = bool(what.args.get("allow_null"))
            if nullable:
                column.foreign = True
                column.edits.append(_without(text, _span(constraint, shift)))
        elif isinstance(what, exp.CommentColumnConstraint):
            column.comment = what.name
    if position := node.args.get("position"):
        column.position = (position.args["position"], position.name or None)
    if kind is not None and "paimon" in kind.meta:
        column.type = kind.meta["paimon"].as_nullable(nullable)
        column.foreign = column.foreign or kind.meta["foreign"]
        place, spark = _span(kind, shift), spark_type(kind.meta["paimon"])
        same = _squeezed(text[place.start : place.end]) == _squeezed(spark)
        if not same and (kind.meta["foreign"] or not spark_timestamps):
            column.edits.append(Edit(place.start, place.end, spark))
    return column


def _squeezed(type_text: str) -> str:
    return "".join(type_text.split()).upper()


def _without(text: str, span: Span) -> Edit:
    """Take a part out, with the space before it."""
    start = span.start
    while start > 0 and text[start - 1] in " \t":
        start -= 1
    return Edit(start, span.end, "")


def without_elements(spans: list[Span], gone: list[Span]) -> list[Edit]:
    """The edits that take elements out of a list with the commas that they no longer need; not for the whole list."""
    edits: list[Edit] = []
    kept_before = False
    for i, span in enumerate(spans):
        if span not in gone:
            kept_before = True
        elif kept_before:
            edits.append(Edit(spans[i - 1].end, span.end, ""))
        else:
            edits.append(Edit(span.start, spans[i + 1].start, ""))
    return edits
