"""Plans of queries over buckets, whose rows are compared with those of plans that know nothing of buckets."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

_ENABLED = "spark.sql.sources.v2.bucketing.enabled"


def plan_of(frame: DataFrame) -> str:
    """The physical plan."""
    return str(frame._jdf.queryExecution().executedPlan().toString())


def rows_of(frame: DataFrame) -> list[tuple[Any, ...]]:
    """The rows in an order of their own."""
    return sorted(map(tuple, frame.collect()), key=repr)


def plan_of_right_answer(spark: SparkSession, query: str) -> str:
    """The plan of a query, whose rows are those of the same query without any help of the buckets'."""
    frame = spark.sql(query)
    plan, rows = plan_of(frame), rows_of(frame)
    spark.conf.set(_ENABLED, "false")
    try:
        plain = spark.sql(query)
        assert "apart by" not in plan_of(plain)
        assert rows == rows_of(plain)
    finally:
        spark.conf.unset(_ENABLED)
    return plan
