"""``python -m bench.parsing``: what our parser adds to Spark's own, for statements from short to very long.

Each statement is parsed by a session with a Paimon catalog and by Spark's parser alone, in turns and in one process, as
Python asks the JVM for it in both; Spark's parser gets what a statement of ours becomes. What is printed is the
median of each, their difference and their ratio.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable

import paimon_sql
from paimon_sql.spark.session.bridge import Bridge
from paimon_sql.sql.rewrite import RewriteContext, rewrite

LONG = 10_000
"""Statements of so many characters are parsed fewer times."""


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


def statements_of_ours() -> dict[str, str]:
    """Statements that Spark does not know, of common sizes, by what they are."""
    columns = ", ".join(
        f"c{i} {kind}" for i, kind in enumerate(("BIGINT", "STRING", "TIMESTAMP(3)", "DECIMAL(10, 2)") * 5)
    )
    sets = ", ".join(f"c{i} = s.c{i} + {i}" for i in range(20))
    return {
        "system table": "SELECT snapshot_id FROM t$snapshots WHERE commit_kind = 'APPEND'",
        "hint": "SELECT * FROM t /*+ OPTIONS('scan.snapshot-id' = '1') */ x JOIN t y ON x.a = y.a WHERE x.a > 1",
        "CREATE TABLE of Flink's": f"CREATE TABLE n ({columns}, PRIMARY KEY (c0) NOT ENFORCED) WITH ('bucket' = '4')",
        "ALTER TABLE of Flink's": "ALTER TABLE t ADD (c BYTES, d TIMESTAMP(3) COMMENT 'x')",
        "ALTER TABLE .. CREATE TAG": "ALTER TABLE t CREATE TAG IF NOT EXISTS x AS OF VERSION 1 RETAIN 7 DAYS",
        "CALL": "CALL sys.rollback_to('t', 1)",
        "DELETE": "DELETE FROM t WHERE a IN (SELECT a FROM t WHERE b = 'x')",
        "UPDATE": "UPDATE t SET b = concat(b, 'x'), a = a + 1 WHERE a BETWEEN 1 AND 10",
        "MERGE of 20 columns": f"MERGE INTO t USING t AS s ON t.a = s.a WHEN MATCHED AND s.a > 1 THEN UPDATE SET {sets}"
        " WHEN NOT MATCHED THEN INSERT *",
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
        context = RewriteContext("paimon", "default", frozenset(["paimon"]))
        for name, text in (statements(given.rows) | statements_of_ours()).items():
            became = rewrite(text, context)
            times: dict[str, list[float]] = {"ours": [], "plain": []}
            rounds = given.rounds if len(text) > LONG else given.rounds * 10
            for number in range(rounds + 2):
                for who, parse, said in (
                    ("ours", ours.parsePlan, text),
                    ("plain", plain.parsePlan, became.spark_sql or became.sql),
                ):
                    taken = _seconds(parse, said)
                    if number >= 2:
                        times[who].append(taken)
            with_us, alone = (statistics.median(times[who]) * 1000 for who in ("ours", "plain"))
            print(
                f"{name:26} {len(text):>9,} characters {with_us:8.2f} ms, Spark {alone:8.2f} ms,"
                f" more {with_us - alone:6.2f} ms, ratio {with_us / alone:.2f}"
            )
        spark.stop()


def _seconds(parse: Callable[[str], object], text: str) -> float:
    started = time.perf_counter()
    parse(text)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
