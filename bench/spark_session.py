"""Spark's settings, the same for every engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from bench.settings import Settings


def spark_settings(settings: Settings, folder: Path) -> dict[str, str]:
    """What every engine's session starts with."""
    return {
        "spark.master": f"local[{settings.cores}]",
        "spark.driver.memory": settings.memory,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(settings.shuffle_partitions),
        # Delta lists files in as many tasks as this says, ten thousand unless it is set.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(settings.shuffle_partitions),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "spark-warehouse"),
        "spark.local.dir": str(folder / "spark-local"),
    }


def plain_session(conf: Mapping[str, str]) -> SparkSession:
    """A stock Spark session with these settings."""
    builder = SparkSession.builder
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
