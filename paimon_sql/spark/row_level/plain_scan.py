"""Detection of queries whose rows come directly from one scan."""

from __future__ import annotations

from enum import Enum

from pyspark.sql import DataFrame


class Rows(Enum):
    """The rows of a scan that an optimized plan returns, besides computing columns."""

    ALL = "all of them"
    SOME = "some of them, each where it was read"
    OTHERS = "rows from elsewhere or in other places, as after a join"


def rows_of_scan(frame: DataFrame) -> Rows:
    """Return which rows of its scan a query returns."""
    plan, rows = frame._jdf.queryExecution().optimizedPlan(), Rows.ALL
    while (kind := plan.getClass().getSimpleName()) in ("Project", "Filter"):
        if kind == "Filter":
            rows = Rows.SOME
        plan = plan.child()
    return rows if kind == "DataSourceV2ScanRelation" else Rows.OTHERS
