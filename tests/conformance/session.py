"""The session that the conformance and golden runners drive."""

from __future__ import annotations

from pyspark.sql import SparkSession

import paimon_sql


def make(warehouse: str) -> SparkSession:
    """A session whose current catalog is the Paimon catalog ``paimon`` over a warehouse."""
    return paimon_sql.connect(
        warehouse,
        **{
            "spark.master": "local[2]",
            "spark.ui.enabled": "false",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2",
            "spark.paimon.procedure.results": "connector",
        },
    )
