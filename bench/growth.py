"""``python -m bench.growth``: what upserts of one size cost in tables of growing size.

Each table has a process and a Spark of its own. It is loaded by one INSERT, then upserted by batches of the same
size whose keys lie all over it. What an upsert takes is to grow with the batch and not with the table.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import paimon_sql
from bench.own_process import answer_of
from bench.settings import Settings
from bench.spark_session import spark_settings
from bench.watch import Watch

_ROWS = (1_000_000, 4_000_000, 16_000_000)
_UPSERTS = 5
_COLUMNS = "id BIGINT, customer INT, amount DECIMAL(12, 2), at TIMESTAMP, note STRING, paid BOOLEAN"
_VALUES = (
    "CAST({id} % 100003 AS INT), CAST({id} % 9999 AS DECIMAL(12, 2)), timestamp_seconds({id} % 1000000000),"
    " concat('note of order ', {id} * 7919 % 1000003), {id} % 3 = 0"
)


def measure(rows: int, batch: int, folder: Path) -> dict[str, float]:
    """Load a table and upsert it; the seconds of both and the memory of all processes at most, in GiB."""
    settings = Settings(rows=rows, repetitions=_UPSERTS, data=folder, scratch=folder)
    spark = paimon_sql.connect(folder / "warehouse", **spark_settings(settings, folder))
    spark.sql(
        f"CREATE TABLE orders ({_COLUMNS}) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '4', 'write-only' = 'true')"
    )
    took = []
    with Watch(os.getpid()) as watch:
        started = time.perf_counter()
        spark.sql(f"INSERT INTO orders SELECT id, {_VALUES.format(id='id')} FROM range({rows})")
        loaded = time.perf_counter() - started
        for number in range(_UPSERTS):
            started = time.perf_counter()
            key = f"(id * 7919 + {number}) % {rows}"
            spark.sql(f"INSERT INTO orders SELECT {key}, {_VALUES.format(id=f'(id + {number})')} FROM range({batch})")
            took.append(time.perf_counter() - started)
    (found,) = spark.sql("SELECT count(*) FROM orders").collect()
    assert found[0] == rows, f"{found[0]} rows, not {rows}"
    # The first upsert compiles what the others use.
    return {"load": loaded, "upsert": statistics.median(took[1:]), "memory": (watch.seen.peak_memory or 0) / 2**30}


def main() -> None:
    """Measure each size in a process of its own, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("--rows", default=",".join(map(str, _ROWS)), help="the sizes of the tables, comma-separated")
    parser.add_argument("--batch", type=int, default=200_000, help="the rows of an upsert")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(measure(given.one, given.batch, Path(folder))))
        return
    print(f"| rows | load s | upsert of {given.batch:,} rows s | peak memory, GiB |")
    print("|-----:|-------:|------:|------:|")
    for rows in map(int, given.rows.split(",")):
        found = json.loads(answer_of("bench.growth", "--one", rows, "--batch", given.batch))
        print(f"| {rows:,} | {found['load']:.2f} | {found['upsert']:.2f} | {found['memory']:.1f} |", flush=True)


if __name__ == "__main__":
    main()
