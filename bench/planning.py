"""``python -m bench.planning``: what a table of very many files and snapshots costs those who only plan or look.

A table is made whose every commit adds files to one of its partitions; the files stand in the metadata alone. Then, in
a process of its own that has read another table before, each question is asked cold, and some times again at once. Last
each system table is asked, of that table and of an ordinary one.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import paimon_sql
from bench.expire_many import peak_bytes
from paimon_sql.format.metadata.snapshot import CommitKind
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.format.rows.encode import encode_rows
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import BigIntType, DataField, DoubleType, string_type
from paimon_sql.format.statistics.column_statistics import SimpleStats
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.staging.commit_messages import CommitMessage, append_changes
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from paimon_sql.system_tables import system_tables

_PARTITIONS = 100
_AGAIN = 7
_FIELDS = (
    DataField(0, "id", BigIntType()),
    DataField(1, "customer", string_type()),
    DataField(2, "amount", DoubleType()),
    DataField(3, "dt", string_type()),
)


def make(path: Path, snapshots: int, files: int) -> None:
    """Make a table of so many snapshots that add so many files in all, none of which is there."""
    options = {"write-only": "true", "snapshot.num-retained.min": "1000000"}
    schema = new_schema(_FIELDS, options=options, partition_keys=["dt"])
    table = Table("many", str(path), LocalFileIO(), schema)
    table.schemas.try_add(schema)
    each = max(1, files // snapshots)
    samples = [_sample(table, number) for number in range(_PARTITIONS)]
    for number in range(snapshots):
        sample = samples[number * _PARTITIONS // snapshots]
        (file,) = sample.new_files
        new = tuple(
            replace(file, file_name=f"data-{uuid.uuid4()}-{i}.parquet", value_stats=stats)
            for i, stats in enumerate(_statistics(number * each, each, file.value_stats))
        )
        changes = append_changes([replace(sample, new_files=new)])
        with Transaction(table) as transaction:
            transaction.commit(CommitKind.APPEND, lambda latest, made=changes: made)


def _sample(table: Table, number: int) -> CommitMessage:
    """What a file of a partition looks like."""
    columns = [
        [number * 10, number * 10 + 1],
        ["Ada", "Zoe"],
        [0.5, 1e6],
        [f"2026-{number // 28 + 1:02}-{number % 28 + 1:02}"] * 2,
    ]
    (message,) = plan_write(table).run([pa.record_batch(columns, schema=arrow_schema(_FIELDS))])
    return message


def _statistics(first: int, count: int, like: SimpleStats) -> list[SimpleStats]:
    """Bounds of files from a number on: each holds a thousand ids of its own, and customers of all names."""
    types = [f.type for f in _FIELDS]
    (day,) = decode_columns(types, [like.min_values])[3:]
    bounds = []
    for end, letter in ((0, "A"), (999, "Z")):
        ids = np.arange(first, first + count) * 1000 + end
        names = [f"{letter}{number * 2654435761 % 2**32:08x}" for number in range(first, first + count)]
        columns = [pa.array(ids), pa.array(names), pa.array(ids / 7), pa.repeat(day[0], count)]
        bounds.append(encode_rows(columns, types, prefix=True).to_pylist())
    return [SimpleStats(low, high, like.null_counts) for low, high in zip(*bounds, strict=True)]


def _timed(action: Callable[[], object]) -> tuple[float, object]:
    started = time.perf_counter()
    answer = action()
    return round(time.perf_counter() - started, 3), answer


def _plan(spark: SparkSession, query: str) -> str:
    """Plan a query, without running it; what its scan says of files and manifests."""
    plan = spark.sql(query)._jdf.queryExecution().executedPlan().toString()
    return ", ".join(re.findall(r"(?:files|manifests) \d+ of \d+", plan))


def measure(warehouse: Path, master: str) -> dict[str, object]:
    """Ask everything of the tables of a warehouse."""
    spark = paimon_sql.connect(warehouse, **{"spark.master": master})
    spark.sql("CREATE TABLE small (id BIGINT, name STRING, dt STRING) PARTITIONED BY (dt)")
    for number in range(5):
        spark.sql(f"INSERT INTO small VALUES ({number}, 'n{number}', 'd{number % 2}')")
    for query in ("SELECT count(*) FROM small", "SELECT * FROM `small$files`", "SELECT * FROM small WHERE dt = 'd1'"):
        spark.sql(query).collect()
    before = peak_bytes()
    found: dict[str, object] = {}
    queries = {
        "SELECT count(*)": "SELECT count(*) FROM many",
        "$snapshots": "SELECT * FROM `many$snapshots`",
        "$files": "SELECT * FROM `many$files`",
        "one partition": "SELECT * FROM many WHERE dt = '2026-02-01'",
        "all rows": "SELECT * FROM many",
    }
    for name, query in queries.items():
        spark.sql("REFRESH TABLE many")
        cold, said = _timed(lambda asked=query: _plan(spark, asked))
        warm = [_timed(lambda asked=query: _plan(spark, asked))[0] for _ in range(_AGAIN)]
        found[name] = {
            "planned cold": cold,
            "planned again": warm[0],
            f"median of {_AGAIN} times again": statistics.median(warm),
            **({"reads": said} if said else {}),
        }
    for name in ("SELECT count(*)", "$snapshots", "$files"):
        seconds, _ = _timed(lambda asked=queries[name]: spark.sql(asked).collect())
        found[name]["answered"] = seconds  # type: ignore[index]
    found["peak memory over the beginning, MB"] = round((peak_bytes() - before) / 1e6, 1)
    for table in ("small", "many"):
        took = {}
        for name in system_tables():
            query = f"SELECT * FROM `{table}${name}`"
            _timed(lambda asked=query: spark.sql(asked).toArrow())
            took[name], _ = _timed(lambda asked=query: spark.sql(asked).toArrow())
        found[f"system tables of {table}, warm"] = took
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the table, measure in another process, and print what was found as a JSON object."""
    parser = argparse.ArgumentParser(prog="python -m bench.planning", description=__doc__)
    parser.add_argument("--snapshots", type=int, default=5000, help="snapshots of the table (5000)")
    parser.add_argument("--files", type=int, default=100_000, help="its data files (100000)")
    parser.add_argument("--folder", type=Path, default=None, help="where the table is made")
    parser.add_argument("--master", default="local[2]", help="where tasks run (local[2])")
    parser.add_argument("--warehouse", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.warehouse is not None:
        print(json.dumps(measure(asked.warehouse, asked.master)))
        return 0
    folder = Path(tempfile.mkdtemp(prefix="paimon-sql-planning-", dir=asked.folder))
    try:
        seconds, _ = _timed(lambda: make(folder / "default.db" / "many", asked.snapshots, asked.files))
        print(json.dumps({"snapshots": asked.snapshots, "files": asked.files, "made in seconds": seconds}), flush=True)
        command = [sys.executable, "-m", "bench.planning", "--warehouse", str(folder), "--master", asked.master]
        found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        print(json.dumps(json.loads(found.splitlines()[-1]), indent=2))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
