"""Everything that parties do through Spark."""

from tests.faults.spark.statements import beside, maintenance, rows
from tests.faults.spark.statements.base import STATEMENTS, Statement

__all__ = ["STATEMENTS", "Statement", "beside", "maintenance", "rows"]
