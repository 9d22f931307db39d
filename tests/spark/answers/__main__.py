"""Run many stories: ``python -m tests.spark.answers --minutes 60 --seed 7``."""

from __future__ import annotations

import argparse
import tempfile
import time

import paimon_sql
from tests.spark.answers.run import INTERPRETED, Runner
from tests.spark.answers.script import as_sql


def main() -> None:
    """Run stories from a seed on until the time is up; print what differs, made small."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark.answers")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stories", type=int, default=1 << 30)
    parser.add_argument("--queries", type=int, default=12)
    parser.add_argument("--stop-at", type=int, default=20, help="after so many differences")
    given = parser.parse_args()
    spark = paimon_sql.connect(
        tempfile.mkdtemp(),
        **{
            "spark.master": "local[1]",
            "spark.ui.enabled": "false",
            "spark.sql.session.timeZone": "UTC",
            **INTERPRETED,
        },
    )
    spark.sparkContext.setLogLevel("OFF")
    runner, end, found = Runner(spark), time.monotonic() + given.minutes * 60, 0
    for seed in range(given.seed, given.seed + given.stories):
        if time.monotonic() > end or found >= given.stop_at:
            break
        story, error = runner.told(seed, given.queries)
        if error is not None:
            found += 1
            smallest = runner.smallest(story, error)
            print(f"... seed {seed}\n{as_sql(smallest)}\n{runner.again(smallest) or error}", flush=True)
        if runner.counts.stories % 50 == 0:
            print(f"... seed {seed}: {runner.counts}, {found} differences", flush=True)
    print(f"{runner.counts}, {found} differences")
    for text, times in runner.counts.refused.most_common(60):
        print(f"  {times:5} {text}")
    spark.stop()


if __name__ == "__main__":
    main()
