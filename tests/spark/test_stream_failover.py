"""A stream of two living processes: one stands still while the other takes its checkpoint over; each row comes once."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.selection import in_turns

Sql = Callable[[str], list[tuple[Any, ...]]]

_STREAM = """
    import time
    from pathlib import Path

    import paimon_sql
    from paimon_sql.storage.commit.snapshot.snapshot_commit import RenamingSnapshotCommit

    folder = Path({folder!r})
    created = RenamingSnapshotCommit._created

    def wait(name):
        (folder / f"at {{name}}").touch()
        while not (folder / "go").exists():
            time.sleep(0.05)

    def late(self, snapshot, *, locked):
        if {stands!r} == "before":
            wait("before")
        done = created(self, snapshot, locked=locked)
        if {stands!r} == "behind":
            wait("behind")
        return done

    spark = paimon_sql.connect({warehouse!r}, **{{
        "spark.master": "local[1]", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"}})
    RenamingSnapshotCommit._created = late
    rows = spark.readStream.schema("k INT, v STRING").parquet(str(folder / "in"))
    writer = rows.writeStream.option("checkpointLocation", str(folder / "cp"))
    query = writer.trigger(availableNow=True).toTable("paimon.{database}.t")
    try:
        query.awaitTermination()
    except Exception as error:  # another query has taken the checkpoint over
        print(error)
"""


@pytest.mark.parametrize(
    ("stands", "expires"),
    [(stands, e) for i, stands in enumerate(("before", "behind")) for e in in_turns((True, False), i)],
)
def test_a_stream_that_two_processes_run_delivers_each_row_once(
    sql: Sql, spark: SparkSession, tmp_path: Path, stands: str, expires: bool
) -> None:
    sql("CREATE TABLE t (k INT, v STRING)")

    def feed(first: int, end: int) -> None:
        rows = spark.range(first, end).selectExpr("CAST(id AS INT) k", "concat('v', id) v")
        rows.coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))

    def run() -> None:
        rows = spark.readStream.schema("k INT, v STRING").parquet(str(tmp_path / "in"))
        writer = rows.writeStream.option("checkpointLocation", str(tmp_path / "cp"))
        writer.trigger(availableNow=True).toTable("t").awaitTermination()

    feed(0, 5)
    run()
    feed(5, 10)
    program = textwrap.dedent(_STREAM).format(
        folder=str(tmp_path),
        stands=stands,
        warehouse=str(spark.conf.get("spark.sql.catalog.paimon.warehouse")),
        database=sql("SELECT current_database()")[0][0],
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as other:
        try:
            _until(tmp_path / f"at {stands}", other)
            run()  # this process believes that the other is dead
            feed(10, 12)
            run()
            if expires:
                sql("CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)")
            assert sql("SELECT count(*), count(DISTINCT k) FROM t") == [(12, 12)]
        finally:
            (tmp_path / "go").touch()
        said = other.communicate(timeout=120)[0].decode()
    assert other.returncode == 0, said[-2000:]
    assert sql("SELECT count(*), count(DISTINCT k) FROM t") == [(12, 12)]
    feed(12, 15)
    run()
    assert sql("SELECT count(*), count(DISTINCT k), sum(k) FROM t") == [(15, 15, 105)]


def _until(sign: Path, process: subprocess.Popen[bytes]) -> None:
    began = time.monotonic()
    while not sign.exists():
        if process.poll() is not None or time.monotonic() - began > 120:
            output = process.stdout.read() if process.stdout and process.poll() is not None else b""
            raise AssertionError(output.decode()[-2000:])
        time.sleep(0.05)
