"""Catalyst's expressions as text, for `expressions` to read."""

from __future__ import annotations

from typing import Any

from paimon_sql.spark.java import CATALYST, Jvm
from paimon_sql.spark.other_settings import under_settings

_IN_UTC = {"spark.sql.session.timeZone": "UTC"}
_INSTANT = '"dataType":"timestamp"'


def expression_text(jvm: Jvm, expressions: Any) -> str:
    """A Scala ``Seq`` of expressions, all at once as the elements of an array, as JSON; instants are told in UTC."""
    array = jvm.new(f"{CATALYST}.expressions.CreateArray", expressions, False)
    text = str(array.toJSON())
    # Spark writes instants in the session's time zone, where an hour in autumn comes twice.
    return str(under_settings(jvm, _IN_UTC, array.toJSON)) if _INSTANT in text else text
