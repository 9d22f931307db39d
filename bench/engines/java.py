"""Paimon's Java connector: the newest release for Spark that Maven Central has."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from bench.engines.jars import jar_settings
from bench.engines.paimon_tables import PaimonTables
from bench.spark_session import plain_session, spark_settings

VERSION = "0.9.0"
_JAR = f"org.apache.paimon:paimon-spark-3.5:{VERSION}"


class JavaEngine(PaimonTables):
    """Paimon tables of the connector's own catalog, which is the session's current one."""

    def session(self) -> SparkSession:
        conf = {
            **spark_settings(self.settings, self.folder),
            **jar_settings(_JAR),
            "spark.sql.extensions": "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions",
            "spark.sql.catalog.paimon": "org.apache.paimon.spark.SparkCatalog",
            "spark.sql.catalog.paimon.warehouse": str(self.folder / "warehouse"),
            "spark.sql.defaultCatalog": "paimon",
        }
        return plain_session(conf)

    def read_stream(self, table: str, **options: str) -> Any:
        # The connector's streams know tables only by path.
        return self.spark.readStream.format("paimon").options(**options).load(self._path(table))

    def start_stream(self, writer: Any, table: str) -> Any:
        return writer.format("paimon").start(self._path(table))

    def _path(self, table: str) -> str:
        return str(self.folder / "warehouse" / "default.db" / table)

    def version(self) -> str:
        return f"Paimon's Java connector {VERSION} on Spark {self.spark.version}"


ENGINE = JavaEngine
