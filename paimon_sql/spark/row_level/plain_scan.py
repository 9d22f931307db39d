"""Plans of rows that come straight from one scan."""

from __future__ import annotations

from enum import Enum

from pyspark.sql import DataFrame


class Rows(Enum):
    """What an optimized plan makes of the rows of a scan, apart from computing columns."""

    ALL = "all of them"
    SOME = "some of them, each where it was read"
    OTHERS = "rows from elsewhere or in other places, as after a join"


def rows_of_scan(frame: DataFrame) -> Rows:
    """What a query makes of the rows that its scan gives."""
    plan, rows = frame._jdf.queryExecution().optimizedPlan(), Rows.ALL
    while (kind := plan.getClass().getSimpleName()) in ("Project", "Filter"):
        if kind == "Filter":
            rows = Rows.SOME
        plan = plan.child()
    return rows if kind == "DataSourceV2ScanRelation" else Rows.OTHERS
