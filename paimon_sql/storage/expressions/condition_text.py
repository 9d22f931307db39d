"""Conditions in SQL text as predicates: columns compared with literals, joined by AND, OR and NOT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timezone, tzinfo

import pyarrow as pa
import sqlglot
from sqlglot import exp

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.types import DataField
from paimon_sql.format.text.values import parse_text
from paimon_sql.storage.expressions.predicates import MIRRORED, And, Comparison, IsNull, Like, Or, Predicate

_COMPARISONS: dict[type, str] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_UNDERSTOOD = frozenset(["this", "expression", "expressions", "low", "high", "to"])
"""The parts of nodes that are heeded; others, such as ``symmetric``, would change the meaning."""


@dataclass(frozen=True)
class ConditionParser:
    """Parses conditions on some columns: comparison operators, IN, BETWEEN, LIKE, IS NULL, with AND, OR, NOT.

    Attributes:
        fields: the columns; their names are found in any case.
        kind: what they are called in errors, in the singular.
        zone: the time zone of TIMESTAMP_LTZ values.
    """

    fields: Sequence[DataField]
    kind: str = "column"
    zone: tzinfo = timezone.utc

    def parse(self, text: str) -> Predicate:
        """Return the predicate of a condition in Spark's SQL.

        Raises:
            InvalidInputError: it cannot be parsed, names another column, or is more than such a condition.
        """
        try:
            return self._predicate(sqlglot.parse_one(text, dialect="spark"))
        except sqlglot.ParseError as error:
            raise InvalidInputError(f"The condition {text} cannot be parsed.") from error

    def scalar(self, field: DataField, text: str) -> pa.Scalar:
        """Return the value of a column that a text denotes, as a cast does.

        Raises:
            InvalidInputError: it denotes none.
        """
        try:
            return pa.scalar(parse_text(text, field.type, self.zone), arrow_type(field.type))
        except (ValueError, InvalidInputError) as error:
            raise InvalidInputError(f"'{text}' is not a value of {self.kind} {field.name}: {error}") from error

    def _predicate(self, node: exp.Expr) -> Predicate:
        if isinstance(node, exp.Like) and node.args.get("negate"):  # NOT LIKE
            return Like(self._column(node.this).name, self._literal(node.expression), negated=True)
        if any(value and name not in _UNDERSTOOD for name, value in node.args.items()):
            raise self._unreadable(node)
        if isinstance(node, exp.Paren):
            return self._predicate(node.this)
        if isinstance(node, exp.Not):
            opposite = self._predicate(node.this).negate()
            if opposite is None:
                raise self._unreadable(node)
            return opposite
        if isinstance(node, exp.And | exp.Or):
            sides = self._predicate(node.this), self._predicate(node.expression)
            return And(sides) if isinstance(node, exp.And) else Or(sides)
        if type(node) in _COMPARISONS:
            operator = _COMPARISONS[type(node)]
            if isinstance(node.expression, exp.Column):
                return self._comparison(node.expression, MIRRORED[operator], node.this)
            return self._comparison(node.this, operator, node.expression)
        if isinstance(node, exp.Between):
            low, high = node.args["low"], node.args["high"]
            return And((self._comparison(node.this, ">=", low), self._comparison(node.this, "<=", high)))
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return IsNull(self._column(node.this).name)
        if isinstance(node, exp.In) and node.expressions:
            return Or(tuple(self._comparison(node.this, "=", value) for value in node.expressions))
        if isinstance(node, exp.Like):
            return Like(self._column(node.this).name, self._literal(node.expression))
        if isinstance(node, exp.Column) and pa.types.is_boolean(arrow_type(self._column(node).type)):
            return Comparison(self._column(node).name, "=", pa.scalar(True))
        raise self._unreadable(node)

    def _comparison(self, column: exp.Expr, operator: str, value: exp.Expr) -> Predicate:
        field = self._column(column)
        return Comparison(field.name, operator, self.scalar(field, self._literal(value)))

    def _column(self, node: exp.Expr) -> DataField:
        if isinstance(node, exp.Column):
            for field in self.fields:
                if field.name.lower() == node.name.lower():
                    return field
        raise InvalidInputError(
            f"{node.sql('spark')} is not a {self.kind}.",
            remedy=f"There are the {self.kind}s {', '.join(f.name for f in self.fields)}.",
        )

    def _literal(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Cast):  # DATE '2024-01-01'
            return self._literal(node.this)
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
            return f"-{node.this.name}"
        if isinstance(node, exp.Boolean):
            return str(node.this).lower()
        if isinstance(node, exp.Literal):
            return str(node.name)
        raise self._unreadable(node)

    def _unreadable(self, node: exp.Expr) -> InvalidInputError:
        return InvalidInputError(
            f"{node.sql('spark')} cannot be used in a condition on {self.kind}s.",
            remedy="Compare them with literals: =, <, IN, BETWEEN, LIKE, IS NULL, with AND, OR, NOT.",
        )
