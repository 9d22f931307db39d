"""What the commands that compare engines have in common: arguments, folders, and the run itself."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from bench.engines import BEFORE
from bench.results import Results
from bench.run import Say, run
from bench.settings import Settings

_RESULTS = Path(__file__).resolve().parent / ".results"


def add_arguments(parser: argparse.ArgumentParser, engines: Collection[str]) -> None:
    """Add the arguments that each of these commands takes."""
    parser.add_argument("--engines", type=names(engines), default=list(engines), help=f"of {', '.join(engines)}")
    parser.add_argument("--before", type=Path, help="a checkout of another version of this project to compare with")
    parser.add_argument("--repetitions", type=positive, default=3, help="repetitions of each repeatable work (3)")
    parser.add_argument("--buckets", type=positive, default=4, help="buckets of the primary-key table (4)")
    parser.add_argument("--memory", default="4g", help="heap of the driver (4g)")
    folder = Path(tempfile.gettempdir()) / "paimon-sql-bench-data"
    parser.add_argument("--data", type=Path, default=folder, help="directory of the generated input")
    parser.add_argument("--scratch", type=Path, help="directory of the tables, removed at the end")
    parser.add_argument("--keep", action="store_true", help="keep the tables")
    parser.add_argument("--out", type=Path, help="directory of results and logs")


def out_folder(asked: argparse.Namespace) -> Path:
    """Where the results go, made."""
    out: Path = asked.out or _RESULTS / datetime.now().strftime("%Y-%m-%d-%H%M%S")
    out = out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    return out


def sayer() -> Say:
    """What tells the user how far a run has come."""
    started = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - started:6.1f} s] {text}", file=sys.stderr, flush=True)

    return say


def run_as_asked(asked: argparse.Namespace, settings: Settings, works: Iterable[str], out: Path, say: Say) -> Results:
    """Measure works on the engines that were asked for, in tables that are removed unless they are to stay."""
    scratch = Path(tempfile.mkdtemp(prefix="paimon-sql-bench-", dir=asked.scratch))
    engines = [engine for engine in asked.engines if engine != BEFORE or asked.before]
    settings = replace(
        settings,
        repetitions=asked.repetitions,
        buckets=asked.buckets,
        memory=asked.memory,
        scratch=scratch,
        before=str(asked.before or ""),
    )
    try:
        return run(settings, engines, works, out, say)
    finally:
        if asked.keep:
            say(f"the tables are kept in {scratch}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)


def report(results: Results, text: str, out: Path) -> int:
    """Print and keep the results; what the command ends with: 1 if an engine failed or engines disagreed."""
    print(text)
    out.joinpath("table.md").write_text(text + "\n")
    results.write(out / "results.json")
    print(f"Written to {out}.")
    return 1 if results.failures or results.disagreements() else 0


def positive(text: str) -> int:
    """A positive number."""
    number = int(text.replace("_", ""))
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


def names(known: Collection[str]) -> Callable[[str], list[str]]:
    """What reads names with commas, each of which must be known."""

    def read(text: str) -> list[str]:
        found = [name.strip() for name in text.split(",") if name.strip()]
        unknown = [name for name in found if name not in known]
        if unknown or not found:
            raise argparse.ArgumentTypeError(f"'{', '.join(unknown)}' is not one of {', '.join(known)}")
        return found

    return read
