"""A standalone cluster: the same rows as in one process, and each row once whatever dies or is run twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests import hadoop_aws, packages
from tests.clusters import ROOT, Cluster, standalone
from tests.object_stores import keepers
from tests.spark.cluster_faults import ROWS
from tests.spark.conftest import Sql
from tests.spark.table_life import Answers, life


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A master and two workers."""
    with standalone() as running:
        yield running


def answer_of(program: str, cluster: Cluster, folder: Path, asked: str = "") -> dict[str, Any]:
    """What a program prints that drives the cluster, and is asked by standard input; its log is kept in the folder."""
    command = [sys.executable, "-m", f"tests.spark.{program}", cluster.master, str(folder)]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=folder, env=environment, input=asked, capture_output=True, text=True, timeout=900
    )
    (folder / "log").write_text(done.stderr)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_tables_live_on_a_cluster_as_in_one_process(
    cluster: Cluster, spark: SparkSession, sql: Sql, tmp_path: Path
) -> None:
    (tmp_path / "cluster").mkdir()
    (tmp_path / "local").mkdir()
    there = answer_of("table_life", cluster, tmp_path / "cluster")
    here: Answers = life(spark, tmp_path / "local")
    assert there.keys() == here.keys()
    assert {name: there[name] for name in here if there[name] != here[name]} == {}


def test_rows_are_there_once_whatever_dies_or_is_run_twice(cluster: Cluster, tmp_path: Path) -> None:
    told = answer_of("cluster_faults", cluster, tmp_path)
    once = [ROWS, ROWS, sum(range(ROWS)), ROWS]
    assert told == {
        "executors": 2,
        "killed": 2,
        "nobody waited for the slow task": True,
        "plans were made by executors": True,
        "manifests read here": 0,
        **{table: [once, once, []] for table in ("plain", "keyed", "copied")},
    }


@pytest.mark.skipif(not packages.available(), reason="Hadoop's file system for S3 needs Maven, which fetches it once")
def test_warehouses_in_stores_are_used_from_a_cluster(cluster: Cluster, s3: dict[str, str], tmp_path: Path) -> None:
    jars = [str(jar) for jar in hadoop_aws.jars()]
    asked = {"options": s3, "keepers": keepers(s3), "jars": jars}
    told = answer_of("cluster_store", cluster, tmp_path, json.dumps(asked))
    shown = {name: told.pop(name) for name in ("settings", "command", "kept explained", "other explained")}
    refused = [told.pop(name) for name in ("copied without the key", "read for another", "over tables")]
    left = [k for k in range(120) if k % 10 != 5]
    changed = [len({*left, *range(115, 125)}), sum({*left, *range(115, 125)}), 12, 10]
    assert told == {
        **{name: [changed] for name in ("changed", "compacted", "cleaned", "copied")},
        "reads the compacted": "Spark",
        "reads the kept": "Spark",
        "reads for another": "Python",
        "together": [[45]],
        "format table": [[2, "ö%"], [3, None], [4, "a b"]],
        "its partitions": [["v=a b"], ["v=null"], ["v=ö%25"]],
        "format table of a query": [changed[:2]],
        "loaded": [["SKIPPED", False]],
        "back": [changed[:2]],
    }
    assert refused[0].startswith("COPY INTO: Spark has already opened s3://vault for a catalog with other options.")
    assert refused[1].startswith("other.default.f: Spark has already opened s3://lake for a catalog with other options")
    assert refused[2].startswith("OVERWRITE = TRUE of 's3://vault/warehouse' would delete files of the table")
    # The log of Spark's events holds what its UI shows.
    secrets = [options["s3.secret-key"] for options in (s3, keepers(s3))]
    files = [path for top in (tmp_path, cluster.work) for path in top.rglob("*") if path.is_file()]
    texts = [*shown.values(), *refused, *(path.read_text(errors="replace") for path in files)]
    assert sum(len(text) for text in texts) > 1_000_000
    assert [text[:200] for text in texts if any(secret in text for secret in secrets)] == []
