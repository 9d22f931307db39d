"""What tables of many kinds go through, statement by statement: the same rows wherever Spark's tasks run.

As a program it runs on a cluster: ``python -m tests.spark.table_life MASTER FOLDER`` prints the answers as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.spark.execution import distribute, executor
from paimon_sql.spark.scan.proxies import deletion_mask
from tests.clusters import EXECUTORS

Answers = dict[str, list[list[str]]]

_KEYED = "k BIGINT, p INT, v STRING, n BIGINT, PRIMARY KEY (k{}) NOT ENFORCED"
_KINDS = {
    "append": (
        "k BIGINT, p INT, v STRING, n BIGINT",
        "'bucket'='3', 'bucket-key'='k', 'deletion-vectors.enabled'='true'",
    ),
    "evolving": (
        "k BIGINT, p INT, v STRING, n BIGINT",
        "'row-tracking.enabled'='true', 'data-evolution.enabled'='true', 'deletion-vectors.enabled'='true'",
    ),
    "sums": (
        _KEYED.format(""),
        "'bucket'='3', 'merge-engine'='aggregation', 'fields.n.aggregate-function'='sum',"
        " 'local-merge-buffer-size'='1 mb', 'fields.p.aggregate-function'='max', 'file.format'='orc'",
    ),
    "changes": (_KEYED.format(""), "'bucket'='2', 'changelog-producer'='lookup'"),
    "vectors": (_KEYED.format(""), "'bucket'='2', 'deletion-vectors.enabled'='true'"),
    "dynamic": (_KEYED.format(", p"), "'dynamic-bucket.target-row-num'='20'"),
    "postponed": (_KEYED.format(""), "'bucket'='-2'"),
    "crossing": (_KEYED.format(""), "'bucket'='-1'"),
}
"""Columns and options of tables of each kind of writer and reader."""
_PARTITIONED = ("dynamic", "crossing")
_CHANGED = ("append", "evolving", "changes", "vectors", "dynamic", "crossing")
_ROWS = (
    "SELECT /*+ REPARTITION(3) */ id k, CAST(id % 3 AS INT) p, concat('é', id) v, id * {n} n FROM range({first}, {end})"
)


def life(spark: SparkSession, folder: Path) -> Answers:
    """What the statements answer, by a name of each; the session's current database gets the tables."""
    made = _Life(spark, folder)
    for name, (columns, options) in _KINDS.items():
        made.kind(name, columns, options)
    made.joins()
    made.streams()
    made.maintenance()
    return made.answers


class _Life:
    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self.answers: Answers = {}

    def do(self, text: str) -> list[Any]:
        rows: list[Any] = self._spark.sql(text).collect()
        return rows

    def ask(self, name: str, text: str) -> None:
        self.answers[name] = sorted([str(value) for value in row] for row in self.do(text))

    def kind(self, t: str, columns: str, options: str) -> None:
        """Written twice with the same keys, changed, compacted, looked at from all sides."""
        parts = "PARTITIONED BY (p)" if t in _PARTITIONED else ""
        self.do(f"CREATE TABLE {t} ({columns}) {parts} TBLPROPERTIES ({options})")
        self.do(f"INSERT INTO {t} {_ROWS.format(n=1, first=0, end=150)}")
        if t == "postponed":
            self.do(f"CALL sys.compact('{t}')")
        shown = "k, p + 1, v, n" if t == "crossing" else "k, p, v, n"
        self.do(f"INSERT INTO {t} SELECT {shown} FROM ({_ROWS.format(n=2, first=100, end=200)})")
        self.ask(f"{t} written", f"SELECT * FROM {t}")
        if t in _CHANGED:
            self.do(f"UPDATE {t} SET v = upper(v), n = n + 1 WHERE k % 7 = 0")
            self.do(f"DELETE FROM {t} WHERE k % 5 = 1")
            source = "SELECT /*+ REPARTITION(2) */ id k FROM range(190, 210)"
            self.do(
                f"MERGE INTO {t} USING ({source}) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET v = 'merged'"
                " WHEN NOT MATCHED THEN INSERT (k, p, v, n) VALUES (s.k, 0, 'new', -1)"
            )
            self.ask(f"{t} changed", f"SELECT p, count(*), sum(n), min(v) FROM {t} WHERE n > 20 OR n < 0 GROUP BY p")
        self.do(f"CALL sys.compact(table => '{t}', compact_strategy => 'full')")
        self.ask(f"{t} compacted", f"SELECT * FROM {t}")
        if t == "changes":
            self.ask("audited", f"SELECT rowkind, k, n FROM `{t}$audit_log`")
            self.ask("kept", f"SELECT snapshot_id, commit_kind FROM `{t}$snapshots`")

    def joins(self) -> None:
        """Tables in buckets that meet where they are: executors get partitions that have keys on the driver alone."""
        self.do("SET spark.sql.autoBroadcastJoinThreshold=-1")
        for name, one, other in (("few", "append", "sums"), ("fewer", "changes", "vectors")):
            query = f"SELECT l.k, l.n, r.n, r.v FROM {one} l FULL JOIN {other} r ON l.k = r.k"
            plan = self._spark.sql(query)._jdf.queryExecution().executedPlan().toString()
            self.answers[f"{name} shuffles"] = [[str(plan.count("Exchange "))]]
            self.ask(f"{name} joined", query)
        self.do("RESET spark.sql.autoBroadcastJoinThreshold")

    def streams(self) -> None:
        """A stream of a table's changes into another table."""
        self.do("CREATE TABLE followed (k BIGINT, p INT, v STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED)")
        for _ in range(2):
            stream = self._spark.readStream.table("changes").writeStream
            options = stream.option("checkpointLocation", f"{self._folder}/checkpoint").trigger(availableNow=True)
            options.toTable("followed").awaitTermination()
            self.do(f"INSERT INTO changes {_ROWS.format(n=5, first=195, end=230)}")
        self.ask("followed", "SELECT * FROM followed")

    def maintenance(self) -> None:
        """Tables made of others, moved, numbered anew, indexed and cleaned."""
        self.do(
            "CREATE TABLE made TBLPROPERTIES ('primary-key'='k', 'bucket'='2') AS SELECT * FROM changes WHERE k > 10"
        )
        self.ask("made", "SELECT * FROM made")
        self.do("INSERT OVERWRITE dynamic SELECT * FROM changes WHERE p = 1")
        self.ask("overwritten", "SELECT * FROM dynamic")
        self.do("SET spark.sql.sources.partitionOverwriteMode=dynamic")
        self.do("INSERT OVERWRITE dynamic SELECT /*+ REPARTITION(2) */ k, 2, v, n FROM changes WHERE p = 2")
        self.do("RESET spark.sql.sources.partitionOverwriteMode")
        self.ask("overwritten in parts", "SELECT * FROM dynamic")
        self.do("ALTER TABLE made SET TBLPROPERTIES ('bucket'='4')")
        self.do("CALL sys.rescale(table => 'made')")
        self.ask("rescaled", "SELECT * FROM made")
        self.do("CALL sys.copy(source_table => 'made', target_table => 'copied')")
        self.ask("copied", "SELECT * FROM copied")
        self.do("CALL sys.create_global_index(table => 'evolving', index_column => 'k', index_type => 'btree')")
        self.ask("looked up", "SELECT * FROM evolving WHERE k IN (3, 77, 204)")
        self.do(f"CREATE DATABASE spark_catalog.plain LOCATION '{self._folder}/plain'")
        plain = "spark_catalog.plain.rides"
        self.do(f"CREATE TABLE {plain} USING parquet PARTITIONED BY (p) AS SELECT k, v, n, p FROM changes")
        self.do("CALL sys.migrate_table(source_type => 'hive', table => 'plain.rides', target_table => 'moved')")
        self.ask("moved", "SELECT * FROM moved")
        self.do("DROP DATABASE spark_catalog.plain CASCADE")
        self.do("CALL sys.expire_snapshots(table => 'changes', retain_max => 1, retain_min => 1)")
        self.ask("expired", "SELECT count(*), sum(n) FROM changes")
        found = self.do("CALL sys.remove_orphan_files(table => 'changes', dry_run => true)")
        self.answers["orphans"] = [[str(row[0])] for row in found]


def by_workers() -> None:
    """Let nothing be so little that the driver does it by itself."""
    executor.FEW_BYTES = deletion_mask._FEW_BYTES = distribute._FEW_BYTES = distribute._ONE_TASK_BYTES = -1


def main(master: str, folder: str) -> None:
    """The life of the tables on a cluster, as JSON on standard output."""
    by_workers()
    settings = {
        "spark.master": master,
        **EXECUTORS,
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": f"{folder}/spark-warehouse",
    }
    spark = paimon_sql.connect(f"{folder}/warehouse", **settings)
    print(json.dumps(life(spark, Path(folder))))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
