"""Constant folding by Spark: SQL expressions without columns, such as ``concat('a', 'b')``, as literals."""

from __future__ import annotations

import json
import re
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from paimon_sql.spark.jvm.gateway import CATALYST, Jvm
from paimon_sql.storage.columns.literals import ConstantError, parse_constant

_OPTIMIZER = f"{CATALYST}.optimizer"
_CAST = re.compile(r"CAST\((.*) AS [^()']+(?:\([\d, ]+\))?\)", re.DOTALL)
"""Spark's SQL for values without a literal in its grammar: nulls, FLOAT, infinity."""
_VOLATILE = frozenset(["LocalTimestamp", "Now", "SparkVersion"])
"""Expressions whose values change over time, in addition to those whose names begin with ``Current``."""


def folded(jvm: Jvm, sql: str) -> str:
    """A default value's expression as a literal; unchanged if it is one already or Spark cannot fold it.

    Expressions that depend on time, user or chance, such as ``current_date()`` or ``rand()``, are not folded.
    """
    try:
        parse_constant(sql, sql=True)
    except ConstantError:
        try:
            return _literal(jvm, sql) or sql
        except (Py4JJavaError, CapturedException):
            return sql  # the error is raised where the default is parsed as a constant
    return sql


def _literal(jvm: Jvm, sql: str) -> str | None:
    session = jvm.static("org.apache.spark.sql.classic.SparkSession", "active")()
    plan = session.sql(f"SELECT {sql}").queryExecution().analyzed()
    if plan.getClass().getSimpleName() != "Project" or plan.expressions().size() != 1:
        return None
    kinds = {node["class"].rsplit(".", 1)[-1] for node in json.loads(plan.expressions().head().toJSON())}
    if kinds & _VOLATILE or any(kind.startswith("Current") for kind in kinds):
        return None
    for rule in ("ReplaceExpressions", "ConstantFolding"):
        plan = jvm.singleton(f"{_OPTIMIZER}.{rule}").apply(plan)
    value: Any = plan.expressions().head()
    while value.getClass().getSimpleName() == "Alias":
        value = value.child()
    if value.getClass().getSimpleName() != "Literal":
        return None
    text = str(value.sql())
    cast = _CAST.fullmatch(text)
    return cast[1] if cast else text
