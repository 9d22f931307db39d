"""Spark's filter expressions as predicates of the storage core.

An expression crosses the bridge as one JSON text, its nodes in preorder. Only what means exactly the same on both
sides is translated: a column of the table compared with a literal of the column's own type, or sums, products and
remainders of whole numbers compared with each other. Other casts, a function, an unknown node make their conjunct
untranslatable, and Spark evaluates it alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.types import ArrayType, BooleanType, CharType, DataField, DataType, MapType, VarCharType
from paimon_sql.spark.conversion.types import spark_type
from paimon_sql.storage.expressions.array_predicates import HoldsAny
from paimon_sql.storage.expressions.integer_terms import (
    Arithmetic,
    ColumnTerm,
    Constant,
    Remainder,
    Term,
    TermComparison,
    Widened,
)
from paimon_sql.storage.expressions.map_predicates import OfMapKey
from paimon_sql.storage.expressions.predicates import And, Comparison, In, IsNull, Or, Predicate, StartsWith

_COMPARISONS = {
    "EqualTo": "=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}
_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ARITHMETIC = {"Add": "+", "Subtract": "-", "Multiply": "*"}
_REMAINDERS = ("Remainder", "Pmod")
_MAP_VALUES = ("GetMapValue", "ElementAt")
_PLACES = ("AttributeReference", *_MAP_VALUES)
_WHOLE = {"byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(), "long": pa.int64()}
_EPOCH = datetime(1970, 1, 1)
_LONG = 1 << 15


class UntranslatableError(Exception):
    """This part of an expression has no exact counterpart."""


class Node:
    """One node of an expression with its children."""

    __slots__ = ("body", "children", "kind")

    def __init__(self, body: Mapping[str, Any], children: list[Node]) -> None:
        self.kind = str(body["class"]).rsplit(".", 1)[-1]
        self.body = body
        self.children = children


def parse_expression(text: str) -> Node:
    """The tree behind ``Expression.toJSON``."""
    nodes = iter(json.loads(text))

    def take() -> Node:
        body = next(nodes)
        return Node(body, [take() for _ in range(body["num-children"])])

    return take()


def translate_all(text: str, types: Mapping[str, DataType]) -> list[Predicate | None]:
    """The predicates that mean the same as the children of a Spark expression; None where there is none.

    Args:
        text: the expression as `expression_text` tells it.
        types: the types of the table's columns.
    """
    told = tuple(types.items())
    return list(_remembered(text, told) if len(text) <= _LONG else _translations(text, told))


def _translations(text: str, types: tuple[tuple[str, DataType], ...]) -> tuple[Predicate | None, ...]:
    known = dict(types)
    return tuple(_translated(child, known) for child in parse_expression(text).children)


_remembered = lru_cache(maxsize=256)(_translations)
"""Queries ask the same of a table several times over, and are asked again."""


def translate_values(text: str, columns: Sequence[DataField]) -> dict[str, Term] | None:
    """What the children of a Spark expression, one a column, set the columns to.

    Args:
        text: the expression as `expression_text` tells it; its children may have names.
        columns: the table's columns, which the children set in their order.

    Returns:
        By name the values of the columns that do not keep theirs; None if one has no exact counterpart.
    """
    types = {f.name: f.type for f in columns}
    found: dict[str, Term] = {}
    for child, column in zip(parse_expression(text).children, columns, strict=True):
        try:
            value = _value(child.children[0] if child.kind == "Alias" else child, column.type, types)
        except UntranslatableError:
            return None
        if value != ColumnTerm(column.name):
            found[column.name] = value
    return found


def _value(node: Node, wanted: DataType, types: Mapping[str, DataType]) -> Term:
    """An expression that gives exactly values of a type."""
    if node.kind == "AttributeReference":
        name = _column(node, types)
        if arrow_type(types[name]) != arrow_type(wanted):
            raise UntranslatableError
        return ColumnTerm(name)
    if node.kind == "Literal":
        if node.body.get("value") is None and node.body["dataType"] == spark_type(wanted):
            return Constant(pa.scalar(None, arrow_type(wanted)))
        return Constant(_literal(node, wanted))
    if _whole(node, types) != arrow_type(wanted):
        raise UntranslatableError
    return _term(node, types)


def _translated(node: Node, types: Mapping[str, DataType]) -> Predicate | None:
    try:
        return _predicate(node, types)
    except UntranslatableError:
        return None


def _predicate(node: Node, types: Mapping[str, DataType]) -> Predicate:
    if node.kind in _COMPARISONS:
        return _comparison(node, types)
    builder = _BUILDERS.get(node.kind)
    if builder is None:
        raise UntranslatableError
    return builder(node, types)


def _comparison(node: Node, types: Mapping[str, DataType]) -> Predicate:
    operator = _COMPARISONS[node.kind]
    left, right = node.children
    if not {left.kind, right.kind} <= {"Literal", *_PLACES} or (left.kind == "Literal") == (right.kind == "Literal"):
        return TermComparison(_term(left, types), operator, _term(right, types))
    if left.kind == "Literal":
        left, right, operator = right, left, _MIRRORED[operator]
    place = _place(left, types)
    return place.where(Comparison(place.name, operator, _literal(right, place.type)))


def _term(node: Node, types: Mapping[str, DataType]) -> Term:
    """A whole number computed from columns."""
    kind = _whole(node, types)
    if node.kind == "AttributeReference":
        return ColumnTerm(_column(node, types))
    if node.kind == "Literal":
        return Constant(pa.scalar(_number(node), kind))
    if node.kind == "Cast":
        if _whole(node.children[0], types).bit_width > kind.bit_width:
            raise UntranslatableError
        return Widened(_term(node.children[0], types), kind)
    if node.kind in _ARITHMETIC:
        left, right = (_term(child, types) for child in node.children)
        return Arithmetic(_ARITHMETIC[node.kind], left, right)
    divisor, positive = _number(node.children[1]), node.kind == "Pmod"
    if not divisor or (positive and divisor < 0):
        raise UntranslatableError
    return Remainder(_term(node.children[0], types), divisor, positive)


def _whole(node: Node, types: Mapping[str, DataType]) -> pa.DataType:
    """The type of whole numbers that an expression gives."""
    if node.kind == "AttributeReference":
        name = spark_type(types[_column(node, types)])
    elif node.kind in ("Literal", "Cast"):
        name = node.body["dataType"]
    elif node.kind in (*_ARITHMETIC, *_REMAINDERS):
        return _whole(node.children[0], types)
    else:
        raise UntranslatableError
    if name not in _WHOLE:
        raise UntranslatableError
    return _WHOLE[name]


def _number(node: Node) -> int:
    if node.kind != "Literal" or node.body.get("value") is None or node.body["dataType"] not in _WHOLE:
        raise UntranslatableError
    return int(node.body["value"])


def _column(node: Node, types: Mapping[str, DataType]) -> str:
    if node.kind != "AttributeReference" or node.body["name"] not in types:
        raise UntranslatableError
    return str(node.body["name"])


@dataclass(frozen=True)
class _Place:
    """Where a value stands that is compared with literals: in a column, or under a key of a map."""

    column: str
    type: DataType
    key: str | None = None

    @property
    def name(self) -> str:
        """What a condition calls the value."""
        return self.column if self.key is None else OfMapKey.VALUE

    def where(self, condition: Predicate) -> Predicate:
        """The condition on the column, given the one on the value."""
        return condition if self.key is None else OfMapKey(self.column, self.key, condition)


def _place(node: Node, types: Mapping[str, DataType]) -> _Place:
    if node.kind not in _MAP_VALUES:
        column = _column(node, types)
        return _Place(column, types[column])
    of, key = node.children
    column = _column(of, types)
    kind = types[column]
    if not isinstance(kind, MapType) or not isinstance(kind.key, (CharType, VarCharType)):
        raise UntranslatableError
    return _Place(column, kind.value, str(_literal(key, kind.key).as_py()))


def _null(node: Node, types: Mapping[str, DataType], negated: bool) -> Predicate:
    place = _place(node.children[0], types)
    return place.where(IsNull(place.name, negated))


def _in(node: Node, types: Mapping[str, DataType]) -> Predicate:
    place = _place(node.children[0], types)
    values = [_literal(child, place.type) for child in node.children[1:]]
    return place.where(In(place.name, _values(values, place.type)))


def _starts_with(node: Node, types: Mapping[str, DataType]) -> Predicate:
    place = _place(node.children[0], types)
    return place.where(StartsWith(place.name, str(_literal(node.children[1], place.type).as_py())))


def _array_contains(node: Node, types: Mapping[str, DataType]) -> Predicate:
    column, kind = _array(node.children[0], types)
    return HoldsAny(column, _values([_literal(node.children[1], kind)], kind))


def _arrays_overlap(node: Node, types: Mapping[str, DataType]) -> Predicate:
    array, elements = sorted(node.children, key=lambda child: child.kind == "CreateArray")
    if elements.kind != "CreateArray":
        raise UntranslatableError
    column, kind = _array(array, types)
    told = [child for child in elements.children if child.kind != "Literal" or child.body.get("value") is not None]
    return HoldsAny(column, _values([_literal(child, kind) for child in told], kind))


def _array(node: Node, types: Mapping[str, DataType]) -> tuple[str, DataType]:
    """The name of a column of arrays, and the type of their elements."""
    column = _column(node, types)
    kind = types[column]
    if not isinstance(kind, ArrayType):
        raise UntranslatableError
    return column, kind.element


def _values(literals: Sequence[pa.Scalar], kind: DataType) -> pa.Array:
    return pa.array([v.as_py() for v in literals], arrow_type(kind))


def _not(node: Node, types: Mapping[str, DataType]) -> Predicate:
    negated = _predicate(node.children[0], types).negate()
    if negated is None:
        raise UntranslatableError
    return negated


def _truth(node: Node, types: Mapping[str, DataType]) -> Predicate:
    """A column that is a condition by itself."""
    column = _column(node, types)
    if not isinstance(types[column], BooleanType):
        raise UntranslatableError
    return Comparison(column, "=", pa.scalar(True))


_BUILDERS: dict[str, Callable[[Node, Mapping[str, DataType]], Predicate]] = {
    "And": lambda n, t: And(tuple(_predicate(c, t) for c in n.children)),
    "Or": lambda n, t: Or(tuple(_predicate(c, t) for c in n.children)),
    "Not": _not,
    "AttributeReference": _truth,
    "IsNull": lambda n, t: _null(n, t, False),
    "IsNotNull": lambda n, t: _null(n, t, True),
    "In": _in,
    "StartsWith": _starts_with,
    "ArrayContains": _array_contains,
    "ArraysOverlap": _arrays_overlap,
}


def _literal(node: Node, column_type: DataType) -> pa.Scalar:
    if node.kind != "Literal" or node.body.get("value") is None:
        raise UntranslatableError
    name, text = node.body["dataType"], node.body["value"]
    expected = spark_type(column_type)
    if name != expected and not (name == "string" and str(expected).startswith("varchar")):
        raise UntranslatableError
    if not isinstance(name, str):
        raise UntranslatableError
    reader = _READERS.get(name.split("(")[0])
    if reader is None:
        raise UntranslatableError
    try:
        return pa.scalar(reader(text), arrow_type(column_type))
    except (ValueError, OverflowError):
        # A date behind the year 9999, say: Spark knows it, Python does not.
        raise UntranslatableError from None


def _timestamp(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


def _timestamp_ntz(text: str) -> datetime:
    return _EPOCH + timedelta(microseconds=int(text))


_READERS: dict[str, Callable[[str], Any]] = {
    "boolean": lambda s: s == "true",
    "byte": int,
    "short": int,
    "integer": int,
    "long": int,
    "float": float,
    "double": float,
    "string": str,
    "decimal": Decimal,
    "date": date.fromisoformat,
    "timestamp": _timestamp,
    "timestamp_ntz": _timestamp_ntz,
}
