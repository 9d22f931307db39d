"""Plain Spark Parquet: what every other figure is measured against."""

from __future__ import annotations

from pyspark.sql import SparkSession

from bench.engines.base import Engine, column_list
from bench.spark_session import plain_session, spark_settings


class ParquetEngine(Engine):
    """Parquet tables of Spark's own session catalog."""

    changes = False

    def session(self) -> SparkSession:
        return plain_session(spark_settings(self.settings, self.folder))

    def version(self) -> str:
        return f"Parquet of Spark {self.spark.version}"

    def create(self, table: str, *, keyed: bool) -> None:
        self.rows(f"CREATE TABLE {table} ({column_list()}) USING parquet")


ENGINE = ParquetEngine
