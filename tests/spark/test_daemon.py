"""The process that Python workers are forked from."""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from paimon_sql.spark.session import daemon


def test_workers_begin_with_what_they_need(spark: SparkSession) -> None:
    def main(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            spec = sys.modules["__main__"].__spec__
            found = spec.name if spec and "paimon_sql.storage.write.plan" in sys.modules else ""
            yield pa.RecordBatch.from_pydict({"main": [found] * batch.num_rows})

    assert spark.range(1).mapInArrow(main, "main string").collect() == [("paimon_sql.spark.session.daemon",)]


@pytest.mark.parametrize(
    "module", ["row_level.strategies", "scan.proxies.planned", "write.proxies", "write.bucket_distribution"]
)
def test_functions_of_workers_need_no_grammar(module: str) -> None:
    program = f"import sys, paimon_sql.spark.{module}; sys.exit('sqlglot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_worker_whose_reader_is_gone_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(sock: socket.socket, authenticated: bool) -> int:
        raise BrokenPipeError

    with socket.socket() as sock:
        assert daemon.tidy(broken)(sock, True) != 0
    assert capsys.readouterr() == ("", "")


def test_the_garbage_of_a_task_is_found_without_visiting_modules(spark: SparkSession) -> None:
    def main(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"exempt": [gc.get_freeze_count()] * batch.num_rows})

    ((exempt,),) = spark.range(1).mapInArrow(main, "exempt long").collect()
    assert exempt > 50_000


_MEMORY = """
import sys
from paimon_sql.spark.execution import worker_memory
if sys.argv[1] == "keep":
    worker_memory.keep_freed_memory()
import numpy as np
import pyarrow

np.ones(150_000_000, np.int8).sum()
kept = worker_memory._resident_bytes()
limit = worker_memory.ResidentLimit(0)
limit.keep()
print(kept, worker_memory._resident_bytes(), limit.bytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other allocators")
def test_a_worker_keeps_freed_memory_and_returns_what_is_too_much() -> None:
    def measured(mode: str, **more: str) -> list[int]:
        arguments, environment = [sys.executable, "-c", _MEMORY, mode], {**os.environ, **more}
        made = subprocess.run(arguments, check=True, capture_output=True, text=True, env=environment).stdout
        return list(map(int, made.split()))

    (by_default, *_), (kept, returned, limit) = measured("default"), measured("keep")
    assert kept - by_default > 75_000_000
    assert kept - returned > 75_000_000
    assert limit > returned
    limited, *_ = measured("keep", PYSPARK_EXECUTOR_MEMORY_MB="900")
    assert kept - limited > 75_000_000
