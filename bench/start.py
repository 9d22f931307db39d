"""``python -m bench.start``: what it takes to start, part by part, with everything in the disk's cache.

Each part is a process of its own, measured a number of times after a first one that is not counted; the table shows the
medians of the seconds from the start of the process to its end.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path


def parts(warehouse: Path) -> dict[str, list[str]]:
    """Return the command of each part."""
    python, shell = sys.executable, str(Path(sys.executable).parent / "paimon-sql")
    connect = f"import paimon_sql; spark = paimon_sql.connect({str(warehouse)!r}, **{{'spark.ui.enabled': 'false'}})"
    plain = "from pyspark.sql import SparkSession; spark = SparkSession.builder.master('local[2]').getOrCreate()"
    call = ["call", "--warehouse", str(warehouse), "expire_snapshots", "--table", "default.t", "--retain_max", "10"]
    return {
        "Python": [python, "-c", "pass"],
        "import paimon_sql": [python, "-c", "import paimon_sql"],
        "import pyspark.sql": [python, "-c", "import pyspark.sql"],
        "Spark's own session": [python, "-c", plain],
        "connect()": [python, "-c", connect],
        "connect() and SELECT 1": [python, "-c", f"{connect}; spark.sql('SELECT 1').collect()"],
        "connect() and a table": [python, "-c", f"{connect}; spark.sql('SELECT * FROM t').collect()"],
        "paimon-sql --version": [shell, "--version"],
        "paimon-sql -e 'SELECT 1'": [shell, "-w", str(warehouse), "-e", "SELECT 1"],
        "paimon-sql call, without Spark": [shell, *call],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure each part, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.start", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5, help="measured runs of each part (5)")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        warehouse = Path(folder) / "warehouse"
        made = "CREATE TABLE t (id INT); INSERT INTO t VALUES (1)"
        subprocess.run([Path(sys.executable).parent / "paimon-sql", "-w", warehouse, "-e", made], check=True)
        print("| part | seconds |")
        print("|---|---:|")
        for name, command in parts(warehouse).items():
            took = []
            for _ in range(given.repetitions + 1):
                started = time.perf_counter()
                subprocess.run(command, check=True, capture_output=True, cwd=folder)
                took.append(time.perf_counter() - started)
            print(f"| {name} | {statistics.median(took[1:]):.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
