"""Runs statements in a Spark with OpenLineage's listener; its arguments are a warehouse, the jar, a URL, statements."""

from __future__ import annotations

import json
import sys

import paimon_sql


def main() -> None:
    """Run the statements, and print the error of each that fails."""
    warehouse, jar, url, statements = sys.argv[1:]
    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.jars": jar,
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.transport.type": "http",
        "spark.openlineage.transport.url": url,
        "spark.openlineage.namespace": "tests",
    }
    spark = paimon_sql.connect(warehouse, **settings)
    for statement in json.loads(statements):
        try:
            answer = [list(map(str, row)) for row in spark.sql(statement).collect()]
        except Exception as error:
            answer = [[f"{type(error).__name__}: {error}"]]
        print(json.dumps(answer), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
