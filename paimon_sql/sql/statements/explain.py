"""EXPLAIN of a statement that changes rows."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_sql.sql.carried_statements import RowChange, Statement


@dataclass(frozen=True)
class ExplainChange(Statement):
    """EXPLAIN of a statement that changes rows; ``mode`` is Spark's, in lower case."""

    statement: RowChange
    mode: str = "simple"
