"""Translation of Spark's filter expressions to predicates of the storage core, by way of JSON.

An expression crosses the gateway as one JSON string, with its nodes in preorder. Only expressions with exactly the same
meaning on both sides are translated: comparisons of a column with a literal of its type, and of sums, products and
remainders of integers. Other casts, functions and unknown nodes make their conjunct untranslatable; only Spark
evaluates it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import lru_cache
from typing import TypeAlias, TypedDict, cast

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.types import ArrayType, BooleanType, CharType, DataField, DataType, MapType, VarCharType
from paimon_sql.spark.conversion.types import TypeJson, spark_type
from paimon_sql.spark.java.catalyst import ArrayType as JavaArray
from paimon_sql.spark.java.catalyst import Expression
from paimon_sql.spark.java.objects import Seq
from paimon_sql.spark.jvm.gateway import EXPRESSIONS, Jvm
from paimon_sql.spark.jvm.session import with_settings
from paimon_sql.spark.rules.compiled_rule import with_children
from paimon_sql.storage.expressions import integer_terms as terms
from paimon_sql.storage.expressions.predicates import (
    MIRRORED,
    And,
    Comparison,
    ContainsAny,
    In,
    IsNull,
    OfMapKey,
    Or,
    Predicate,
    StartsWith,
)

_COMPARISONS = {
    "EqualTo": "=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}
_ARITHMETIC = {"Add": "+", "Subtract": "-", "Multiply": "*"}
_REMAINDERS = ("Remainder", "Pmod")
_MAP_VALUES = ("GetMapValue", "ElementAt")
_OPERANDS = ("AttributeReference", *_MAP_VALUES)
_INTEGERS = {"byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(), "long": pa.int64()}
_EPOCH = datetime(1970, 1, 1)
_MAX_CACHED_LENGTH = 1 << 15


class UntranslatableError(Exception):
    """A part of an expression has no exact counterpart."""


_Body = TypedDict(
    "_Body", {"class": str, "num-children": int, "name": str, "dataType": TypeJson, "value": str | None}, total=False
)
"""The members of a node in Spark's JSON that are read; those that it has depend on its class."""


class Node:
    """A node of an expression with its children."""

    __slots__ = ("body", "children", "kind")

    def __init__(self, body: _Body, children: list[Node]) -> None:
        self.kind = body["class"].rsplit(".", 1)[-1]
        self.body = body
        self.children = children


_Builder: TypeAlias = Callable[[Node, Mapping[str, DataType]], Predicate]


def parse_expression(text: str) -> Node:
    """The tree of an expression from ``Expression.toJSON``."""
    nodes: Iterator[_Body] = iter(json.loads(text))

    def take() -> Node:
        body = next(nodes)
        return Node(body, [take() for _ in range(body["num-children"])])

    return take()


def translate_all(text: str, types: Mapping[str, DataType]) -> list[Predicate | None]:
    """The predicates equivalent to the children of a Spark expression; None for a child without one.

    Args:
        text: the expression, serialized by `expression_text`.
        types: the types of the table's columns.
    """
    items = tuple(types.items())
    return list(_cached_translations(text, items) if len(text) <= _MAX_CACHED_LENGTH else _translations(text, items))


def _translations(text: str, types: tuple[tuple[str, DataType], ...]) -> tuple[Predicate | None, ...]:
    known = dict(types)
    return tuple(_translated(child, known) for child in parse_expression(text).children)


_cached_translations = lru_cache(maxsize=256)(_translations)
"""Spark pushes the same filters several times per query, and queries repeat."""


def translate_values(text: str, columns: Sequence[DataField]) -> dict[str, terms.Term] | None:
    """The assignments of an UPDATE, from the children of a Spark expression.

    Args:
        text: the expression, serialized by `expression_text`; its children may be aliases.
        columns: the table's columns, in the order of the children.

    Returns:
        The new values of the columns that change, by name; None if a value has no exact counterpart.
    """
    types = {f.name: f.type for f in columns}
    found: dict[str, terms.Term] = {}
    for child, column in zip(parse_expression(text).children, columns, strict=True):
        try:
            value = _value(child.children[0] if child.kind == "Alias" else child, column.type, types)
        except UntranslatableError:
            return None
        if value != terms.ColumnTerm(column.name):
            found[column.name] = value
    return found


def _value(node: Node, target: DataType, types: Mapping[str, DataType]) -> terms.Term:
    """The term of an expression whose values have exactly the type.

    Raises:
        UntranslatableError: they have another type, or the expression has no exact counterpart.
    """
    if node.kind == "AttributeReference":
        name = _column(node, types)
        if arrow_type(types[name]) != arrow_type(target):
            raise UntranslatableError
        return terms.ColumnTerm(name)
    if node.kind == "Literal":
        if node.body.get("value") is None and node.body["dataType"] == spark_type(target):
            return terms.Constant(pa.scalar(None, arrow_type(target)))
        return terms.Constant(_literal(node, target))
    if _integer_type(node, types) != arrow_type(target):
        raise UntranslatableError
    return _term(node, types)


def _translated(node: Node, types: Mapping[str, DataType]) -> Predicate | None:
    try:
        return _predicate(node, types)
    except UntranslatableError:
        return None


def _predicate(node: Node, types: Mapping[str, DataType]) -> Predicate:
    if node.kind not in _BUILDERS:
        raise UntranslatableError
    return _BUILDERS[node.kind](node, types)


def _comparison(node: Node, types: Mapping[str, DataType]) -> Predicate:
    operator = _COMPARISONS[node.kind]
    left, right = node.children
    if not {left.kind, right.kind} <= {"Literal", *_OPERANDS} or (left.kind == "Literal") == (right.kind == "Literal"):
        return terms.TermComparison(_term(left, types), operator, _term(right, types))
    if left.kind == "Literal":
        left, right, operator = right, left, MIRRORED[operator]
    operand = _operand(left, types)
    return operand.where(Comparison(operand.name, operator, _literal(right, operand.type)))


def _term(node: Node, types: Mapping[str, DataType]) -> terms.Term:
    """The integer term of an expression."""
    kind = _integer_type(node, types)
    if node.kind == "AttributeReference":
        return terms.ColumnTerm(_column(node, types))
    if node.kind == "Literal":
        return terms.Constant(pa.scalar(_number(node), kind))
    if node.kind == "Cast":
        if _integer_type(node.children[0], types).bit_width > kind.bit_width:
            raise UntranslatableError
        return terms.Widened(_term(node.children[0], types), kind)
    if node.kind in _ARITHMETIC:
        left, right = (_term(child, types) for child in node.children)
        return terms.Arithmetic(_ARITHMETIC[node.kind], left, right)
    divisor, positive = _number(node.children[1]), node.kind == "Pmod"
    if not divisor or (positive and divisor < 0):
        raise UntranslatableError
    return terms.Remainder(_term(node.children[0], types), divisor, positive)


def _integer_type(node: Node, types: Mapping[str, DataType]) -> pa.DataType:
    """The integer type of an expression."""
    if node.kind == "AttributeReference":
        name = spark_type(types[_column(node, types)])
    elif node.kind in ("Literal", "Cast"):
        name = node.body["dataType"]
    elif node.kind in (*_ARITHMETIC, *_REMAINDERS):
        return _integer_type(node.children[0], types)
    else:
        raise UntranslatableError
    if name not in _INTEGERS:
        raise UntranslatableError
    return _INTEGERS[name]


def _number(node: Node) -> int:
    text = _text(node)
    if node.body["dataType"] not in _INTEGERS:
        raise UntranslatableError
    return int(text)


def _text(node: Node) -> str:
    """The value of a literal that is not null."""
    text = node.body.get("value") if node.kind == "Literal" else None
    if text is None:
        raise UntranslatableError
    return text


def _column(node: Node, types: Mapping[str, DataType]) -> str:
    if node.kind != "AttributeReference" or node.body["name"] not in types:
        raise UntranslatableError
    return node.body["name"]


@dataclass(frozen=True)
class _Operand:
    """A value that is compared with literals: a column, or a map's value of a key."""

    column: str
    type: DataType
    key: str | None = None

    @property
    def name(self) -> str:
        """The name of the value in a condition."""
        return self.column if self.key is None else OfMapKey.VALUE

    def where(self, condition: Predicate) -> Predicate:
        """The condition on the column for a condition on the value."""
        return condition if self.key is None else OfMapKey(self.column, self.key, condition)


def _operand(node: Node, types: Mapping[str, DataType]) -> _Operand:
    if node.kind not in _MAP_VALUES:
        column = _column(node, types)
        return _Operand(column, types[column])
    of, key = node.children
    column = _column(of, types)
    kind = types[column]
    if not isinstance(kind, MapType) or not isinstance(kind.key, (CharType, VarCharType)):
        raise UntranslatableError
    return _Operand(column, kind.value, str(_literal(key, kind.key).as_py()))


def _of_operand(condition: Callable[[_Operand, Sequence[Node]], Predicate]) -> _Builder:
    """A builder of a condition on an operand, the first child of a node, from its other children."""

    def build(node: Node, types: Mapping[str, DataType]) -> Predicate:
        operand = _operand(node.children[0], types)
        return operand.where(condition(operand, node.children[1:]))

    return build


def _array_contains(node: Node, types: Mapping[str, DataType]) -> Predicate:
    column, kind = _array(node.children[0], types)
    return ContainsAny(column, _values(node.children[1:], kind))


def _arrays_overlap(node: Node, types: Mapping[str, DataType]) -> Predicate:
    array, elements = sorted(node.children, key=lambda child: child.kind == "CreateArray")
    if elements.kind != "CreateArray":
        raise UntranslatableError
    column, kind = _array(array, types)
    present = [child for child in elements.children if child.kind != "Literal" or child.body.get("value") is not None]
    return ContainsAny(column, _values(present, kind))


def _array(node: Node, types: Mapping[str, DataType]) -> tuple[str, DataType]:
    """The name of an array column, and the type of its elements."""
    column = _column(node, types)
    kind = types[column]
    if not isinstance(kind, ArrayType):
        raise UntranslatableError
    return column, kind.element


def _values(literals: Sequence[Node], kind: DataType) -> pa.Array:
    return pa.array([_literal(node, kind).as_py() for node in literals], arrow_type(kind))


def _not(node: Node, types: Mapping[str, DataType]) -> Predicate:
    negated = _predicate(node.children[0], types).negate()
    if negated is None:
        raise UntranslatableError
    return negated


def _truth(node: Node, types: Mapping[str, DataType]) -> Predicate:
    """A boolean column as a condition."""
    column = _column(node, types)
    if not isinstance(types[column], BooleanType):
        raise UntranslatableError
    return Comparison(column, "=", pa.scalar(True))


_BUILDERS: dict[str, _Builder] = {
    **dict.fromkeys(_COMPARISONS, _comparison),
    "And": lambda n, t: And(tuple(_predicate(c, t) for c in n.children)),
    "Or": lambda n, t: Or(tuple(_predicate(c, t) for c in n.children)),
    "Not": _not,
    "AttributeReference": _truth,
    "IsNull": _of_operand(lambda of, _: IsNull(of.name)),
    "IsNotNull": _of_operand(lambda of, _: IsNull(of.name, True)),
    "In": _of_operand(lambda of, others: In(of.name, _values(others, of.type))),
    "StartsWith": _of_operand(lambda of, others: StartsWith(of.name, str(_literal(others[0], of.type).as_py()))),
    "ArrayContains": _array_contains,
    "ArraysOverlap": _arrays_overlap,
}


def _literal(node: Node, column_type: DataType) -> pa.Scalar:
    name, text = node.body["dataType"], _text(node)
    expected = spark_type(column_type)
    if name != expected and not (name == "string" and str(expected).startswith("varchar")):
        raise UntranslatableError
    reader = _READERS.get(name.split("(")[0]) if isinstance(name, str) else None
    if reader is None:
        raise UntranslatableError
    try:
        return pa.scalar(reader(text), arrow_type(column_type))
    except (ValueError, OverflowError):
        # Python has no date after the year 9999, Spark has.
        raise UntranslatableError from None


_READERS: dict[str, Callable[[str], object]] = {
    "boolean": lambda s: s == "true",
    **dict.fromkeys(_INTEGERS, int),
    **dict.fromkeys(("float", "double"), float),
    "string": str,
    "decimal": Decimal,
    "date": date.fromisoformat,
    "timestamp": lambda s: datetime.fromisoformat(s).replace(tzinfo=timezone.utc),
    "timestamp_ntz": lambda s: _EPOCH + timedelta(microseconds=int(s)),
}


_IN_UTC = {"spark.sql.session.timeZone": "UTC"}
_INSTANT = '"dataType":"timestamp"'
_OVERLAP = "ArraysOverlap"
_MAX_ELEMENTS = 1000
"""Longer lists cost more to serialize than their predicate saves."""


_ARRAY = f"{EXPRESSIONS}.CreateArray"
_TEXTS = "paimon.ExpressionTexts"
_TEXT_OF = f"""
    public static String of(scala.collection.immutable.Seq expressions) {{
        return new {_ARRAY}(expressions, false).toJSON();
    }}"""


def expression_text(jvm: Jvm, expressions: Seq[Expression]) -> str:
    """A Scala ``Seq`` of expressions as JSON, in one round trip as the elements of an array; timestamps are in UTC."""
    jvm.compiled_class(_TEXTS, (_TEXT_OF,), beside=_ARRAY)
    text = str(jvm.static(_TEXTS, "of")(expressions))
    overlaps = f'.{_OVERLAP}"' in text
    if not overlaps and _INSTANT not in text:
        return text
    array: Expression = jvm.new(_ARRAY, expressions, False)
    if overlaps:
        array = _with_elements(jvm, array)
        text = array.toJSON()
    # Spark writes timestamps in the session's time zone, where an hour in autumn is ambiguous.
    return with_settings(jvm, _IN_UTC, array.toJSON) if _INSTANT in text else text


_PLAN_SPECIFIC = re.compile(r'"(?:exprId":\{[^{}]*\}|qualifier":(?:\[[^\[\]]*\]|"(?:[^"\\]|\\.)*"))')
"""The parts of Spark's JSON of expressions that differ between plans: ids and qualifiers.

It cannot match inside a string value, where quotation marks are escaped.
"""


def plan_independent(text: str) -> str:
    """The text of expressions without what differs between plans of the same query, to compare it."""
    return _PLAN_SPECIFIC.sub("", text)


def _with_elements(jvm: Jvm, expression: Expression) -> Expression:
    """An expression with the literal arrays of ``ArraysOverlap`` split into elements.

    As one string their elements are ambiguous. Nulls are left out, since they equal no element.
    """
    compares = expression.getClass().getSimpleName() == _OVERLAP

    def split(child: Expression) -> Expression:
        found = _with_elements(jvm, child)
        return _elements(jvm, found) if compares else found

    return with_children(jvm, expression, split)


def _elements(jvm: Jvm, expression: Expression) -> Expression:
    if expression.getClass().getSimpleName() != "Literal" or expression.value() is None:
        return expression
    kind = cast(JavaArray, expression.dataType()).elementType()
    values = cast("Sequence[object]", expression.value().toObjectArray(kind))
    if len(values) > _MAX_ELEMENTS:
        return expression
    (literal,) = jvm.java_class(f"{EXPRESSIONS}.Literal").getConstructors()
    copy, literals = jvm.static("java.lang.System", "arraycopy"), []
    for i, value in enumerate(values):
        if value is not None:
            # Py4J would return a number from Python as another class.
            arguments = jvm.objects([None, kind])
            copy(values, i, arguments, 0, 1)
            literals.append(literal.newInstance(arguments))
    return jvm.new(f"{EXPRESSIONS}.CreateArray", jvm.seq(literals), False)
