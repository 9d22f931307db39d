"""Iceberg: its Spark runtime from Maven Central."""

from __future__ import annotations

from collections.abc import Sequence

import pyspark
from pyspark.sql import SparkSession

from bench.engines.base import Engine
from bench.engines.jars import jar_settings
from bench.spark_session import plain_session, spark_settings

VERSION = "1.12.0"
_CATALOG = "ice"
_KEYED = {
    "format-version": "3",
    "write.merge.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.delete.mode": "merge-on-read",
}


class IcebergEngine(Engine):
    """Iceberg tables of a Hadoop catalog; keyed ones are of format 3 and merge on read by deletion vectors."""

    def session(self) -> SparkSession:
        spark = ".".join(pyspark.__version__.split(".")[:2])
        conf = {
            **spark_settings(self.settings, self.folder),
            **jar_settings(f"org.apache.iceberg:iceberg-spark-runtime-{spark}_2.13:{VERSION}"),
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            f"spark.sql.catalog.{_CATALOG}": "org.apache.iceberg.spark.SparkCatalog",
            f"spark.sql.catalog.{_CATALOG}.type": "hadoop",
            f"spark.sql.catalog.{_CATALOG}.warehouse": str(self.folder / "warehouse"),
        }
        return plain_session(conf)

    def version(self) -> str:
        return f"Iceberg {VERSION} on Spark {self.spark.version}"

    def named(self, table: str) -> str:
        return f"{_CATALOG}.db.{table}"

    def define(self, table: str, columns: str, key: Sequence[str], buckets: int) -> None:
        pairs = ", ".join(f"'{k}'='{v}'" for k, v in _KEYED.items())
        options = f" TBLPROPERTIES ({pairs})" if key else ""
        self.rows(f"CREATE TABLE {self.named(table)} ({columns}) USING iceberg{options}")

    def compact(self, table: str) -> None:
        self.rows(
            f"CALL {_CATALOG}.system.rewrite_data_files(table => 'db.{table}', options => map('rewrite-all', 'true'))"
        )

    def expire(self, table: str, keep: int) -> None:
        self.rows(
            f"CALL {_CATALOG}.system.expire_snapshots(table => 'db.{table}', "
            f"older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => {keep})"
        )

    def snapshots(self, table: str) -> int | None:
        return int(self.rows(f"SELECT count(*) FROM {self.named(table)}.snapshots")[0][0])

    def drop(self, table: str) -> None:
        self.rows(f"DROP TABLE IF EXISTS {self.named(table)} PURGE")


ENGINE = IcebergEngine
