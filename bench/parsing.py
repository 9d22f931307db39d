"""``python -m bench.parsing``: what our parser adds to Spark's own, for statements from short to very long.

Each statement is parsed by a session with a Paimon catalog and by Spark's parser alone, in turns and in one process, as
Python asks the JVM for it in both. What is printed is the median of each and the ratio of the medians.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable

import paimon_sql
from paimon_sql.spark.bridge import Bridge


def statements(rows: int) -> dict[str, str]:
    """Statements of many lengths, by what they are; an INSERT has so many rows."""
    values = ", ".join(f"({i}, 'value {i} ü')" for i in range(rows))
    branches = " ".join(f"WHEN a = {i} THEN 'x{i}'" for i in range(2000))
    return {
        "short query": "SELECT a FROM t WHERE a > 1",
        "query of 7 KB": f"SELECT {', '.join(f'a + {i} AS c{i}' for i in range(420))} FROM t",
        "query of 9 KB": f"SELECT {', '.join(f'a + {i} AS c{i}' for i in range(560))} FROM t",
        "CASE of 2,000 branches": f"SELECT CASE {branches} END FROM t",
        "INSERT": f"INSERT INTO t VALUES {values}",
        "INSERT after a comment": f"/* rows */ INSERT INTO t VALUES {values}",
        "INSERT BY NAME": f"INSERT INTO t BY NAME SELECT * FROM VALUES {values} AS v(a, b)",
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="the rows of an INSERT")
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spark = paimon_sql.connect(folder)
        spark.sql("CREATE TABLE t (a INT, b STRING)")
        ours = spark._jsparkSession.sessionState().sqlParser()
        plain = Bridge.of(spark.sparkContext).jvm.new("org.apache.spark.sql.execution.SparkSqlParser")
        for name, text in statements(given.rows).items():
            times: dict[str, list[float]] = {"ours": [], "plain": []}
            for number in range(given.rounds + 2):
                for who, parse in (("ours", ours.parsePlan), ("plain", plain.parsePlan)):
                    taken = _seconds(parse, text)
                    if number >= 2:
                        times[who].append(taken)
            with_us, alone = (statistics.median(times[who]) * 1000 for who in ("ours", "plain"))
            size = f"{len(text):,}"
            print(
                f"{name:24} {size:>9} characters {with_us:8.1f} ms, Spark {alone:8.1f} ms, ratio {with_us / alone:.2f}"
            )
        spark.stop()


def _seconds(parse: Callable[[str], object], text: str) -> float:
    started = time.perf_counter()
    parse(text)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
