"""paimon-sql: this project."""

from __future__ import annotations

from importlib.metadata import version

from pyspark.sql import SparkSession

import paimon_sql
from bench.engines.paimon_tables import PaimonTables
from bench.spark_session import spark_settings


class PaimonEngine(PaimonTables):
    """Paimon tables of the catalog ``paimon``."""

    def session(self) -> SparkSession:
        return paimon_sql.connect(self.folder / "warehouse", **spark_settings(self.settings, self.folder))

    def version(self) -> str:
        return f"paimon-sql {version('paimon-sql')} on Spark {self.spark.version}"


ENGINE = PaimonEngine
