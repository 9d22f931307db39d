"""``python -m bench.tpc``: TPC-H or TPC-DS on our tables and on Parquet's, query by query, in one run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bench.command import add_arguments, names, out_folder, report, run_as_asked, sayer
from bench.engines import BASE, BEFORE
from bench.settings import Settings
from bench.tpc.benchmarks import BENCHMARKS
from bench.tpc.generate import MissingGeneratorError, tpc_input
from bench.tpc.table import KINDS, tpc_table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; 1 if an engine failed or engines disagreed, 2 if the input cannot be made."""
    asked = _parser().parse_args(arguments)
    benchmark = BENCHMARKS[asked.benchmark]
    say, out = sayer(), out_folder(asked)
    say(f"{benchmark.title} of scale {asked.scale:g} in {asked.data}")
    try:
        made = tpc_input(asked.data.absolute(), benchmark, asked.scale)
    except MissingGeneratorError as error:
        say(str(error))
        return 2
    wanted = set(asked.queries or map(str, benchmark.numbers))
    works = [f"{KINDS[kind]}q{n}" for n in benchmark.numbers if str(n) in wanted for kind in asked.kinds]
    settings = Settings(suite=benchmark.name, scale=asked.scale, data=made.folder)
    results = run_as_asked(asked, settings, works, out, say)
    return report(results, tpc_table(results, benchmark), out)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.tpc", description="TPC-H and TPC-DS as ratios to Parquet.")
    parser.add_argument("--benchmark", choices=BENCHMARKS, default=next(iter(BENCHMARKS)), help="which (tpch)")
    parser.add_argument("--scale", type=float, default=1.0, help="the scale factor: about so many GB of text (1)")
    parser.add_argument("--kinds", type=names(KINDS), default=list(KINDS), help=f"tables, of {', '.join(KINDS)}")
    numbers = [str(n) for n in max((b.numbers for b in BENCHMARKS.values()), key=len)]
    parser.add_argument("--queries", type=names(numbers), help="their numbers, comma-separated (all)")
    add_arguments(parser, (BEFORE, "paimon", BASE))
    return parser


if __name__ == "__main__":
    sys.exit(main())
