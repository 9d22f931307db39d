"""Warehouses in a store that speaks S3, on a cluster whose workers know of it by the catalogs' options alone.

``python -m tests.spark.cluster_store MASTER FOLDER`` reads from standard input the options of catalogs, those of a
keeper among them, and paths of jars; it prints what statements answer as JSON. Spark's own log goes to FOLDER/events.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import paimon_sql
from tests.clusters import EXECUTORS
from tests.object_stores import BUCKET, VAULT
from tests.spark.table_life import by_workers


class _Store:
    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.answers: dict[str, Any] = {}

    def do(self, *statements: str) -> None:
        for statement in statements:
            self._spark.sql(statement).collect()

    def ask(self, name: str, text: str) -> None:
        self.answers[name] = sorted([list(row) for row in self._spark.sql(text).collect()], key=str)

    def refused(self, name: str, text: str) -> None:
        try:
            self.do(text)
        except (PySparkException, Py4JJavaError) as error:
            self.answers[name] = str(error).partition("\n")[0]

    def who_reads(self, name: str, table: str) -> None:
        frame = self._spark.table(table)
        frame.collect()
        plan = frame._jdf.queryExecution().executedPlan().toString()
        self.answers[name] = "Spark" if "ColumnarToRow" in plan else "Python"

    def tables(self) -> None:
        """Tables of a warehouse from their first row to their last file."""
        rows = "SELECT /*+ REPARTITION(3) */ id k, concat('ö', id) v FROM range({}, {})"
        self.do(
            "CREATE TABLE t (k BIGINT, v STRING, PRIMARY KEY (k) NOT ENFORCED)"
            " TBLPROPERTIES ('bucket'='2', 'deletion-vectors.enabled'='true')",
            f"INSERT INTO t {rows.format(0, 100)}",
            f"INSERT INTO t {rows.format(80, 120)}",
            "UPDATE t SET v = 'u' WHERE k % 10 = 0",
            "DELETE FROM t WHERE k % 10 = 5",
            "MERGE INTO t USING (SELECT id k FROM range(115, 125)) s ON t.k = s.k"
            " WHEN MATCHED THEN UPDATE SET v = 'm' WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, 'n')",
        )
        counted = "SELECT count(*), sum(k), count_if(v = 'u'), count_if(v IN ('m', 'n')) FROM {}"
        self.ask("changed", counted.format("t"))
        self.do("CALL sys.compact(table => 't', compact_strategy => 'full')")
        self.who_reads("reads the compacted", "t")
        self.ask("compacted", counted.format("t"))
        self.do(
            "CREATE TABLE c TBLPROPERTIES ('bucket'='-1') AS SELECT * FROM t",
            "CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)",
        )
        time.sleep(1.1)
        now = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
        self.do(f"CALL sys.remove_orphan_files(table => 't', older_than => '{now}')")
        self.ask("cleaned", counted.format("t"))
        self.ask("copied", counted.format("c"))

    def other_catalogs(self, options: dict[str, str], keepers: dict[str, str]) -> None:
        """One on the same bucket with other options, and one on a bucket that only it opens."""
        warehouses = {
            "kept": (f"s3://{VAULT}/warehouse", keepers),
            "other": (f"s3://{BUCKET}/warehouse", options | {"s3.attempts.maximum": "4"}),
        }
        for name, (warehouse, given) in warehouses.items():
            told = ", ".join(f"'{k}' = '{v}'" for k, v in {"warehouse": warehouse, **given}.items())
            statement = f"CREATE CATALOG {name} WITH ('type' = 'paimon', {told})"
            self.answers[f"{name} explained"] = self._spark.sql(f"EXPLAIN EXTENDED {statement}").collect()[0][0]
            self.do(statement)
        self.who_reads("reads for another", "other.default.c")
        self.do("CREATE TABLE kept.default.t AS SELECT /*+ REPARTITION(2) */ * FROM t WHERE k < 50")
        self.who_reads("reads the kept", "kept.default.t")
        self.ask("together", "SELECT count(*) FROM t JOIN kept.default.t AS s USING (k, v)")

    def plain_files(self) -> None:
        """Format tables, and rows copied out and in."""
        table = "kept.default.f"
        self.do(
            f"CREATE TABLE {table} (k BIGINT, v STRING) USING csv PARTITIONED BY (v)",
            f"INSERT INTO {table} VALUES (1, 'a b'), (2, 'ö%'), (3, NULL)",
            f"INSERT OVERWRITE {table} PARTITION (v = 'a b') SELECT 4",
            "CREATE TABLE kept.default.g USING parquet AS SELECT * FROM c",
        )
        self.ask("format table", f"SELECT * FROM {table}")
        self.ask("its partitions", f"SHOW PARTITIONS {table}")
        self.ask("format table of a query", "SELECT count(*), sum(k) FROM kept.default.g")
        formatted = "FILE_FORMAT = (TYPE = CSV)"
        self.refused("copied without the key", f"COPY INTO 's3://{VAULT}/out' FROM t {formatted}")
        self.refused("read for another", "CREATE TABLE other.default.f USING csv AS SELECT 1 AS k")
        self.do(
            "USE kept.default",
            f"COPY INTO 's3://{VAULT}/out put' FROM paimon.default.t {formatted}",
            "CREATE TABLE back (k BIGINT, v STRING)",
        )
        for scheme in ("s3a", "s3"):
            self.ask("loaded", f"COPY INTO back FROM '{scheme}://{VAULT}/out put' {formatted}")
            self.answers["loaded"] = sorted({(row[1], row[2] > 0) for row in self.answers["loaded"]})
        self.ask("back", "SELECT count(*), sum(k) FROM back")
        self.refused("over tables", f"COPY INTO 's3://{VAULT}/warehouse' FROM back {formatted} OVERWRITE = TRUE")
        self.answers["settings"] = str(self._spark.sql("SET -v").collect()) + str(self._spark.sql("SET").collect())


def main(master: str, folder: str) -> None:
    """What the statements answer, as JSON on standard output."""
    given = json.load(sys.stdin)
    by_workers()
    events = Path(folder, "events")
    events.mkdir()
    settings = {
        "spark.master": master,
        **EXECUTORS,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.jars": ",".join(given["jars"]),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(events),
        "spark.eventLog.compress": "false",
        **{f"spark.sql.catalog.paimon.{key}": value for key, value in given["options"].items()},
    }
    spark = paimon_sql.connect(f"s3://{BUCKET}/warehouse", **settings)
    spark.sparkContext.setLogLevel("INFO")
    store = _Store(spark)
    store.tables()
    store.other_catalogs(given["options"], given["keepers"])
    store.plain_files()
    command = spark._jvm.java.lang.ProcessHandle.current().info().commandLine().orElse("")
    store.answers["command"] = command
    spark.stop()
    print(json.dumps(store.answers))


if __name__ == "__main__":
    main(*sys.argv[1:])
