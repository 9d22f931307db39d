"""Statements on a cluster whose executors die, whose workers die and whose slow tasks are run twice.

``python -m tests.spark.cluster_faults MASTER FOLDER`` prints what is left of each table as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf

import paimon_sql
from paimon_sql.storage.metadata import manifests
from paimon_sql.storage.metadata.manifests import ManifestStore
from paimon_sql.storage.table import distributed_manifests
from tests.clusters import EXECUTORS
from tests.spark.table_life import by_workers

ROWS = 8_000
_LONG = 120.0


def main(master: str, folder: str) -> None:
    """Each statement meets its fault, and tells what became of it."""
    by_workers()
    read_here = _planned_by_executors()
    settings = {
        "spark.master": master,
        **EXECUTORS,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "UTC",
        "spark.speculation": "true",
        "spark.speculation.interval": "200ms",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.multiplier": "2",
    }
    spark = paimon_sql.connect(f"{folder}/warehouse", **settings)
    spark.udf.register("harmed", _harmed())
    spark.udf.register("slowly", _slowly())
    told: dict[str, Any] = {"executors": len(_executors(spark))}
    rows = f"SELECT /*+ REPARTITION(4) */ {{}}(id) k, concat('v', id) v FROM range({ROWS})"
    spark.sql("CREATE TABLE plain (k BIGINT, v STRING)")
    started = time.monotonic()
    spark.sql(f"INSERT INTO plain {rows.format('harmed')}")
    told["nobody waited for the slow task"] = time.monotonic() - started < _LONG
    spark.sql(
        "CREATE TABLE keyed (k BIGINT, v STRING, PRIMARY KEY (k) NOT ENFORCED)"
        " TBLPROPERTIES ('dynamic-bucket.target-row-num'='1000')"
    )
    print("plain", time.monotonic() - started, file=sys.stderr)
    killed = _while_an_executor_dies(spark, lambda: spark.sql(f"INSERT INTO keyed {rows.format('slowly')}"))
    spark.sql(f"INSERT INTO keyed {rows.format('')} WHERE id % 2 = 0")
    print("keyed", time.monotonic() - started, file=sys.stderr)
    compact = "CALL sys.compact(table => 'keyed', compact_strategy => 'full')"
    told["killed"] = killed + _while_an_executor_dies(spark, lambda: spark.sql(compact))
    print("compacted", time.monotonic() - started, file=sys.stderr)
    spark.sql("CALL sys.copy(source_table => 'keyed', target_table => 'copied')")
    print("copied", time.monotonic() - started, file=sys.stderr)
    time.sleep(1.1)
    now = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
    for table in ("plain", "keyed", "copied"):
        counted = spark.sql(f"SELECT count(*), count(DISTINCT k), sum(k), count(v) FROM {table}").collect()
        spark.sql(f"CALL sys.remove_orphan_files(table => '{table}', older_than => '{now}')")
        again = spark.sql(f"SELECT count(*), count(DISTINCT k), sum(k), count(v) FROM {table}").collect()
        told[table] = [list(counted[0]), list(again[0]), _unknown_files(spark, folder, table)]
    tracker = spark.sparkContext.statusTracker()
    told["plans were made by executors"] = len(tracker.getJobIdsForGroup("plan of paimon.default.keyed")) > 1
    told["manifests read here"] = len(read_here)
    print(json.dumps(told))
    spark.stop()


def _planned_by_executors() -> list[str]:
    """Let no plan be so small that the driver makes it by itself; the manifests that it reads all the same."""
    distributed_manifests.MANY_BYTES = 1
    manifests.manifest_cache().capacity = 0
    found: list[str] = []
    read = ManifestStore.read_once

    def noted(self: ManifestStore, name: str) -> pa.Table:
        found.append(name)
        return read(self, name)

    ManifestStore.read_once = noted  # type: ignore[method-assign]
    return found


def _harmed() -> Any:
    def harmed(ids: pd.Series) -> pd.Series:
        """The numbers as they are; the first attempt at one task is slow, and at another one kills its worker."""
        context = TaskContext.get()
        if context is not None and context.attemptNumber() == 0:
            if context.partitionId() == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            if context.partitionId() == 2:
                time.sleep(_LONG)
        return ids

    return pandas_udf("long")(harmed)


def _slowly() -> Any:
    def slowly(ids: pd.Series) -> pd.Series:
        """The numbers as they are, some time later."""
        time.sleep(1)
        return ids

    return pandas_udf("long")(slowly)


def _while_an_executor_dies(spark: SparkSession, action: Callable[[], object]) -> int:
    """Do something, and kill an executor as soon as tasks of it run: how many were killed."""
    killed: list[int] = []
    living, over = _executors(spark), threading.Event()
    known = set(spark.sparkContext.statusTracker().getActiveStageIds())

    def kill() -> None:
        tracker = spark.sparkContext.statusTracker()
        while not over.is_set():
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds() if stage not in known]
            if any(stage and stage.numActiveTasks for stage in stages):
                time.sleep(0.3)
                os.kill(living[0], signal.SIGKILL)
                killed.append(living[0])
                return
            time.sleep(0.02)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        action()
    finally:
        over.set()
        killer.join()
    return len(killed)


def _executors(spark: SparkSession) -> list[int]:
    """The processes of both executors."""
    named, started = f"--app-id\0{spark.sparkContext.applicationId}".encode(), time.monotonic()
    found: list[int] = []
    while len(found) < 2:
        assert time.monotonic() - started < 60, found
        time.sleep(0.1)
        found = [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cmdline") if named in _read(path)]
    return found


def _read(path: Path) -> bytes:
    try:
        found = path.read_bytes()
    except OSError:
        return b""  # the process has ended
    return found if b"CoarseGrainedExecutorBackend" in found else b""


def _unknown_files(spark: SparkSession, folder: str, table: str) -> list[str]:
    """The data files of a table that no snapshot names."""
    asked = f"SELECT DISTINCT file_path FROM `{table}$files`"
    named = {Path(row[0]).name for row in spark.sql(asked).collect()}
    for snapshot in [row[0] for row in spark.sql(f"SELECT snapshot_id FROM `{table}$snapshots`").collect()]:
        text = f"SELECT file_path FROM `{table}$files` VERSION AS OF {snapshot}"
        named |= {Path(row[0]).name for row in spark.sql(text).collect()}
    below = Path(folder, "warehouse", "default.db", table).rglob("bucket-*/*")
    return sorted(path.name for path in below if path.name not in named)


if __name__ == "__main__":
    main(*sys.argv[1:])
