"""Runs a Spark that knows Iceberg and nothing of this project: answers queries, a JSON line each.

Its arguments are a warehouse and the jar of Iceberg's runtime. Tables are found by two catalogs: ``place`` has those
whose metadata stand in their folder, by the names of folders, and ``apart`` those of a Hadoop catalog.
"""

from __future__ import annotations

import base64
import json
import sys
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import SparkSession


def session(warehouse: str, jar: str) -> SparkSession:
    """A session with both catalogs."""
    settings = {
        "spark.master": "local[1]",
        "spark.ui.enabled": "false",
        "spark.jars": jar,
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.driver.memory": "1g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
    }
    for name, folder in {"place": warehouse, "apart": f"{warehouse}/iceberg"}.items():
        catalog = f"spark.sql.catalog.{name}"
        settings |= {
            catalog: "org.apache.iceberg.spark.SparkCatalog",
            f"{catalog}.type": "hadoop",
            f"{catalog}.warehouse": folder,
            f"{catalog}.cache-enabled": "false",
        }
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def plain(value: Any) -> Any:
    """A value as JSON holds it."""
    if isinstance(value, float) and value != value:
        return "NaN"
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal | date | datetime):
        return str(value)
    if isinstance(value, dict):
        return [[plain(k), plain(v)] for k, v in value.items()]
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


def main() -> None:
    """Answer requests until there are no more."""
    spark = session(*sys.argv[1:])
    for line in sys.stdin:
        try:
            answer: Any = {"rows": [plain(row) for row in spark.sql(json.loads(line)).collect()]}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
