"""Delta: ``delta-spark`` from PyPI with its jars from Maven Central."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

import pyspark
from pyspark.sql import SparkSession

from bench.engines.base import Engine
from bench.engines.jars import jar_settings
from bench.spark_session import plain_session, spark_settings


class DeltaEngine(Engine):
    """Delta tables of Spark's session catalog, with deletion vectors."""

    def session(self) -> SparkSession:
        spark = ".".join(pyspark.__version__.split(".")[:2])
        conf = {
            **spark_settings(self.settings, self.folder),
            **jar_settings(f"io.delta:delta-spark_{spark}_2.13:{version('delta-spark')}"),
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            # Its log is read by a shuffle of its own, of 50 partitions by default; it gets as many as the others.
            "spark.databricks.delta.snapshotPartitions": str(self.settings.shuffle_partitions),
            "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        }
        return plain_session(conf)

    def version(self) -> str:
        return f"Delta {version('delta-spark')} on Spark {self.spark.version}"

    def define(self, table: str, columns: str, key: Sequence[str], buckets: int) -> None:
        options = " TBLPROPERTIES ('delta.enableDeletionVectors'='true')" if key else ""
        self.rows(f"CREATE TABLE {table} ({columns}) USING delta{options}")

    def scan(self, table: str) -> None:
        # Delta refuses a write to the sink that drops rows when the table has deletion vectors; this reads the same.
        self.spark.table(table)._jdf.queryExecution().toRdd().count()

    def compact(self, table: str) -> None:
        self.rows(f"OPTIMIZE {table}")

    def expire(self, table: str, keep: int) -> None:
        # Delta expires versions by time only and as a side effect of writes; this is the part that one can call.
        self.rows(f"VACUUM {table} RETAIN 0 HOURS")


ENGINE = DeltaEngine
