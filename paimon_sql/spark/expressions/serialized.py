"""Serialization of Catalyst's expressions as JSON, which `predicates` parses."""

from __future__ import annotations

from typing import Any

from paimon_sql.spark.jvm.gateway import CATALYST, Jvm
from paimon_sql.spark.jvm.settings import with_settings
from paimon_sql.spark.rules.trees import with_children

_IN_UTC = {"spark.sql.session.timeZone": "UTC"}
_INSTANT = '"dataType":"timestamp"'
_OVERLAP = "ArraysOverlap"
_MAX_ELEMENTS = 1000
"""Longer lists cost more to serialize than their predicate saves."""
_EXPRESSIONS = f"{CATALYST}.expressions"


def expression_text(jvm: Jvm, expressions: Any) -> str:
    """A Scala ``Seq`` of expressions as JSON, in one round trip as the elements of an array; timestamps are in UTC."""
    array = jvm.new(f"{_EXPRESSIONS}.CreateArray", expressions, False)
    text = str(array.toJSON())
    if f'.{_OVERLAP}"' in text:
        array = _with_elements(jvm, array)
        text = str(array.toJSON())
    # Spark writes timestamps in the session's time zone, where an hour in autumn is ambiguous.
    return str(with_settings(jvm, _IN_UTC, array.toJSON)) if _INSTANT in text else text


def _with_elements(jvm: Jvm, expression: Any) -> Any:
    """An expression with the literal arrays of ``ArraysOverlap`` split into elements.

    As one string their elements are ambiguous. Nulls are left out, since they equal no element.
    """
    compares = str(expression.getClass().getSimpleName()) == _OVERLAP

    def split(child: Any) -> Any:
        found = _with_elements(jvm, child)
        return _elements(jvm, found) if compares else found

    return with_children(jvm, expression, split)


def _elements(jvm: Jvm, expression: Any) -> Any:
    if str(expression.getClass().getSimpleName()) != "Literal" or expression.value() is None:
        return expression
    kind = expression.dataType().elementType()
    values = expression.value().toObjectArray(kind)
    if len(values) > _MAX_ELEMENTS:
        return expression
    (literal,) = jvm.java_class(f"{_EXPRESSIONS}.Literal").getConstructors()
    copy, literals = jvm.static("java.lang.System", "arraycopy"), []
    for i, value in enumerate(values):
        if value is not None:
            # Py4J would return a number from Python as another class.
            arguments = jvm.array("java.lang.Object", [None, kind])
            copy(values, i, arguments, 0, 1)
            literals.append(literal.newInstance(arguments))
    return jvm.new(f"{_EXPRESSIONS}.CreateArray", jvm.seq(literals), False)
