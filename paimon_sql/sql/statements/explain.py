"""EXPLAIN of a statement that changes rows."""

from __future__ import annotations

from paimon_sql.sql.carried_statements import RowChange, Statement


class ExplainChange(Statement):
    """EXPLAIN of a statement that changes rows; ``mode`` is Spark's, in lower case."""

    SPARK_PARSES = True
    statement: RowChange
    mode: str = "simple"
