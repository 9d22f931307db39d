"""Plain Spark Parquet: what every other figure is measured against."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from bench.engines.base import Engine
from bench.spark_session import plain_session, spark_settings


class ParquetEngine(Engine):
    """Parquet tables of Spark's own session catalog."""

    changes = False

    def session(self) -> SparkSession:
        return plain_session(spark_settings(self.settings, self.folder))

    def version(self) -> str:
        return f"Parquet of Spark {self.spark.version}"

    def define(self, table: str, columns: str, key: Sequence[str], buckets: int) -> None:
        self.rows(f"CREATE TABLE {table} ({columns}) USING parquet")


ENGINE = ParquetEngine
