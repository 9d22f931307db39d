"""``python -m bench``: run the benchmark, print its table, keep its results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bench.chart import write_chart
from bench.command import add_arguments, names, out_folder, positive, report, run_as_asked, sayer
from bench.engines import ENVIRONMENTS
from bench.generate import dataset
from bench.settings import Settings
from bench.table import table
from bench.variants import VARIANTS
from bench.works import WORKS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; 1 if an engine failed or engines disagreed."""
    asked = _parser().parse_args(arguments)
    say, out = sayer(), out_folder(asked)
    say(f"input of {asked.rows:,} rows in {asked.data}")
    made = dataset(asked.data.absolute(), asked.rows, asked.variant)
    settings = Settings(rows=asked.rows, data=made.folder, variant=asked.variant)
    results = run_as_asked(asked, settings, asked.works, out, say)
    write_chart(results, out / "chart.png")
    return report(results, table(results), out)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Compares paimon-sql with Parquet, Delta and Iceberg."
    )
    parser.add_argument("--rows", type=positive, default=4_000_000, help="rows of the input (4000000)")
    parser.add_argument(
        "--works", type=names(WORKS), default=list(WORKS), help=f"comma-separated, of {', '.join(WORKS)}"
    )
    about = "; ".join(f"{name}: {variant.about}" for name, variant in VARIANTS.items())
    parser.add_argument("--variant", choices=list(VARIANTS), default="plain", help=f"the input: {about}")
    add_arguments(parser, ENVIRONMENTS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
