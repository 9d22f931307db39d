"""Catalyst's expressions as text, for `expressions` to read."""

from __future__ import annotations

from typing import Any

from paimon_sql.spark.jvm.gateway import CATALYST, Jvm
from paimon_sql.spark.jvm.settings import under_settings
from paimon_sql.spark.rules.trees import with_children

_IN_UTC = {"spark.sql.session.timeZone": "UTC"}
_INSTANT = '"dataType":"timestamp"'
_OVERLAP = "ArraysOverlap"
_MOST_ELEMENTS = 1000
"""Longer lists take longer to be told than they spare."""
_EXPRESSIONS = f"{CATALYST}.expressions"


def expression_text(jvm: Jvm, expressions: Any) -> str:
    """A Scala ``Seq`` of expressions, all at once as the elements of an array, as JSON; instants are told in UTC."""
    array = jvm.new(f"{_EXPRESSIONS}.CreateArray", expressions, False)
    text = str(array.toJSON())
    if f'.{_OVERLAP}"' in text:
        array = _with_elements(jvm, array)
        text = str(array.toJSON())
    # Spark writes instants in the session's time zone, where an hour in autumn comes twice.
    return str(under_settings(jvm, _IN_UTC, array.toJSON)) if _INSTANT in text else text


def _with_elements(jvm: Jvm, expression: Any) -> Any:
    """An expression in which arrays that are compared are told element by element: as one text they are not told apart.

    Nulls are left out, which are like no element.
    """
    compares = str(expression.getClass().getSimpleName()) == _OVERLAP

    def reported(child: Any) -> Any:
        found = _with_elements(jvm, child)
        return _elements(jvm, found) if compares else found

    return with_children(jvm, expression, reported)


def _elements(jvm: Jvm, expression: Any) -> Any:
    if str(expression.getClass().getSimpleName()) != "Literal" or expression.value() is None:
        return expression
    kind = expression.dataType().elementType()
    values = expression.value().toObjectArray(kind)
    if len(values) > _MOST_ELEMENTS:
        return expression
    (literal,) = jvm.java_class(f"{_EXPRESSIONS}.Literal").getConstructors()
    copy, literals = jvm.static("java.lang.System", "arraycopy"), []
    for i, value in enumerate(values):
        if value is not None:
            # A number that came to Python would go back as one of another class.
            arguments = jvm.array("java.lang.Object", [None, kind])
            copy(values, i, arguments, 0, 1)
            literals.append(literal.newInstance(arguments))
    return jvm.new(f"{_EXPRESSIONS}.CreateArray", jvm.seq(literals), False)
