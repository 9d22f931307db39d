"""The process that Python workers are forked from."""

from __future__ import annotations

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


def test_a_worker_whose_reader_is_gone_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(sock: socket.socket, authenticated: bool) -> int:
        raise BrokenPipeError

    monkeypatch.setattr(daemon, "_worker", broken)
    with socket.socket() as sock:
        assert daemon._quiet_worker(sock, True) != 0
    assert capsys.readouterr() == ("", "")
