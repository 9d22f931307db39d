"""A standalone cluster: the same rows as in one process, and each row once whatever dies or is run twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.clusters import ROOT, Cluster, standalone
from tests.spark.cluster_faults import ROWS
from tests.spark.conftest import Sql
from tests.spark.table_life import Answers, life


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A master and two workers."""
    with standalone() as running:
        yield running


def answer_of(program: str, cluster: Cluster, folder: Path) -> dict[str, list[list[object]]]:
    """What a program prints that drives the cluster."""
    command = [sys.executable, "-m", f"tests.spark.{program}", cluster.master, str(folder)]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, list[list[object]]] = json.loads(done.stdout.splitlines()[-1])
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
