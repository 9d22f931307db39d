"""Catalyst's expressions as text, for `expressions` to read."""

from __future__ import annotations

from typing import Any

from paimon_sql.spark.java import CATALYST, SETTINGS, JavaObject, Jvm

_ZONE = "spark.sql.session.timeZone"
_INSTANT = '"dataType":"timestamp"'


def expression_text(jvm: Jvm, expressions: Any) -> str:
    """A Scala ``Seq`` of expressions, all at once as the elements of an array, as JSON; instants are told in UTC."""
    array = jvm.new(f"{CATALYST}.expressions.CreateArray", expressions, False)
    text = str(array.toJSON())
    # Spark writes instants in the session's time zone, where an hour in autumn comes twice.
    return _in_utc(jvm, array) if _INSTANT in text else text


def _in_utc(jvm: Jvm, expression: Any) -> str:
    settings = jvm.settings.clone()
    settings.setConfString(_ZONE, "UTC")
    return str(jvm.singleton(SETTINGS).withExistingConf(settings, _Json(jvm, expression)))


class _Json(JavaObject):
    """Scala code that gives an expression's JSON."""

    def __init__(self, jvm: Jvm, expression: Any) -> None:
        super().__init__(jvm)
        self._expression = expression

    def apply(self) -> Any:
        return self._expression.toJSON()

    class Java:
        implements = ["scala.Function0"]
