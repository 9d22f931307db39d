"""EXPLAIN of a statement that changes rows."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_sql.sql.statements.base import RowChange, Statement


@dataclass(frozen=True)
class ExplainChange(Statement):
    """EXPLAIN of a statement that changes rows; ``mode`` is how much is told, in Spark's words."""

    statement: RowChange
    mode: str = "simple"
