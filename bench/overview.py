"""``python -m bench.overview RESULTS [PICTURE]``: the chart of the documentation's first page.

`RESULTS` is the `results.json` of a run of ``python -m bench`` with its peers, `PICTURE` an SVG, by default that of the
page. A row is a work, a mark an engine: its time over that of plain Parquet on the same Spark in the same run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bench.engines import BASE, BEFORE
from bench.works import WORKS

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "assets" / "benchmark.svg"
SHOWN = (
    "insert",
    "scan",
    "group-by",
    "load",
    "upsert",
    "merged-scan",
    "merged-lookup",
    "compacted-scan",
    "small-inserts",
    "update",
)
_MARKS = {
    "paimon": ("#1f6feb", "o", 75),
    "java": ("#2da44e", "s", 34),
    "delta": ("#d98324", "D", 30),
    "iceberg": ("#8250df", "^", 40),
}
_GREY = "#6e7781"
# The reader's own fonts; letters stay letters, so that they are sharp and can be searched. The salt makes equal charts
# equal files.
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "overview",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
}


class Done(TypedDict):
    """A work of an engine: how its time compares, None without a base."""

    ratio: float | None


class Engine(TypedDict):
    """An engine of a run."""

    engine: str
    version: str | None
    works: Mapping[str, Done]


class Sizes(TypedDict):
    """The sizes of a run."""

    rows: int
    cores: int


class Run(TypedDict):
    """What the picture needs of a run."""

    settings: Sizes
    contestants: Sequence[Engine]


def draw(run: Run, picture: Path) -> None:
    """Write the chart of a run."""
    engines = [each for each in run["contestants"] if each["engine"] not in (BASE, BEFORE) and each["works"]]
    works = [work for work in SHOWN if any(_ratio(engine, work) for engine in engines)]
    sizes = f"{run['settings']['rows']:,} rows, {run['settings']['cores']} cores"
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(7.4, 0.75 + 0.25 * len(works)), layout="constrained")
        axes = figure.subplots()
        axes.axvline(1, color=_GREY, linewidth=1.2)
        # Ours come first: their marks are larger, and show behind equal ones.
        for engine in engines:
            colour, marker, size = _MARKS[engine["engine"]]
            placed = [(ratio, row) for row, work in enumerate(works) if (ratio := _ratio(engine, work))]
            ratios, rows = [ratio for ratio, _ in placed], [row for _, row in placed]
            axes.scatter(ratios, rows, s=size, c=colour, marker=marker, label=engine["version"], zorder=3)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_yticks(range(len(works)), [WORKS[work].title for work in works])
        axes.set_ylim(len(works) - 0.5, -0.5)
        axes.grid(axis="both", color=_GREY, alpha=0.2)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        figure.legend(ncols=2, loc="outside upper left", frameon=False, fontsize=10)
        figure.supxlabel(f"time, plain Spark Parquet = 1; further left is faster ({sizes})", color=_GREY, fontsize=10)
        figure.savefig(
            picture, format="svg", transparent=True, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type"))
        )


def _ratio(engine: Engine, work: str) -> float | None:
    done = engine["works"].get(work)
    return done["ratio"] if done else None


def main() -> None:
    """Draw the chart of a run."""
    parser = argparse.ArgumentParser(prog="python -m bench.overview", description="Draws the chart of the first page.")
    parser.add_argument("results", type=Path, help="results.json of a run")
    parser.add_argument("picture", type=Path, nargs="?", default=PICTURE, help="the picture, an SVG")
    asked = parser.parse_args()
    draw(json.loads(asked.results.read_text()), asked.picture)


if __name__ == "__main__":
    main()
