"""``python -m bench``: run the benchmark, print its table, keep its results."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from pathlib import Path

from bench.chart import write_chart
from bench.engines import BEFORE, ENVIRONMENTS
from bench.generate import dataset
from bench.results import Results
from bench.run import run
from bench.settings import Settings
from bench.table import table
from bench.works import WORKS

_RESULTS = Path(__file__).resolve().parent / ".results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; 1 if an engine failed or engines disagreed."""
    asked = _parser().parse_args(arguments)
    started = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - started:6.1f} s] {text}", file=sys.stderr, flush=True)

    out: Path = asked.out or _RESULTS / datetime.now().strftime("%Y-%m-%d-%H%M%S")
    out = out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    say(f"input of {asked.rows:,} rows in {asked.data}")
    made = dataset(asked.data.absolute(), asked.rows)
    scratch = Path(tempfile.mkdtemp(prefix="paimon-sql-bench-", dir=asked.scratch))
    settings = Settings(
        rows=asked.rows,
        repetitions=asked.repetitions,
        buckets=asked.buckets,
        data=made.folder,
        scratch=scratch,
        before=str(asked.before or ""),
    )
    engines = [e for e in asked.engines if e != BEFORE or asked.before]
    try:
        results = run(settings, engines, asked.works, out, say)
    finally:
        if asked.keep:
            say(f"the tables stay in {scratch}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    return _report(results, out)


def _report(results: Results, out: Path) -> int:
    text = table(results)
    print(text)
    out.joinpath("table.md").write_text(text + "\n")
    results.write(out / "results.json")
    write_chart(results, out / "chart.png")
    print(f"Kept in {out}.")
    return 1 if results.failures or results.disagreements() else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="paimon-sql beside Parquet, Delta, Iceberg.")
    parser.add_argument("--rows", type=_positive, default=4_000_000, help="rows of the input (4000000)")
    parser.add_argument("--works", type=_names(WORKS), default=list(WORKS), help=f"with commas, of {', '.join(WORKS)}")
    parser.add_argument(
        "--engines", type=_names(ENVIRONMENTS), default=list(ENVIRONMENTS), help=f"of {', '.join(ENVIRONMENTS)}"
    )
    parser.add_argument("--before", type=Path, help="a checkout of another version of this project, measured beside")
    parser.add_argument("--repetitions", type=_positive, default=3, help="of what can be repeated (3)")
    parser.add_argument("--buckets", type=_positive, default=4, help="of our primary-key table (4)")
    folder = Path(tempfile.gettempdir()) / "paimon-sql-bench-data"
    parser.add_argument("--data", type=Path, default=folder, help="where the generated input is kept")
    parser.add_argument("--scratch", type=Path, help="where the tables are made, and removed at the end")
    parser.add_argument("--keep", action="store_true", help="leave the tables there")
    parser.add_argument("--out", type=Path, help="where results.json, table.md, chart.png and the logs go")
    return parser


def _positive(text: str) -> int:
    number = int(text.replace("_", ""))
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


def _names(known: Collection[str]) -> Callable[[str], list[str]]:
    def names(text: str) -> list[str]:
        found = [name.strip() for name in text.split(",") if name.strip()]
        unknown = [name for name in found if name not in known]
        if unknown or not found:
            raise argparse.ArgumentTypeError(f"'{', '.join(unknown)}' is none of {', '.join(known)}")
        return found

    return names


if __name__ == "__main__":
    sys.exit(main())
