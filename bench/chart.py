"""The ratios as a bar chart."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from bench.engines import BASE
from bench.results import Results

_COLOURS = {"before": "#9bc1f7", "paimon": "#1f6feb", "delta": "#d98324", "iceberg": "#6f42c1", "java": "#2da44e"}
_THICKNESS = 0.8


def write_chart(results: Results, path: Path) -> None:
    """A PNG with a group of bars a work, on a logarithmic scale where Parquet is 1, and a mark at each target."""
    contestants = [who for who in results.contestants() if who in results.versions and who.engine != BASE]
    works = [w for w in results.works() if any(results.ratio(who, w) for who in contestants)]
    if not works:
        return
    figure = Figure(figsize=(10, 1.5 + 0.55 * len(works)), layout="constrained")
    axes = figure.subplots()
    height = _THICKNESS / len(contestants)
    for position, who in enumerate(contestants):
        places = [i - _THICKNESS / 2 + (position + 0.5) * height for i in range(len(works))]
        ratios = [results.ratio(who, work) for work in works]
        bars = [(place, ratio) for place, ratio in zip(places, ratios, strict=True) if ratio]
        drawn = axes.barh(
            [place for place, _ in bars],
            # A bar runs from 1, so that what is faster than Parquet points to the left.
            [ratio - 1 for _, ratio in bars],
            height=height,
            left=1,
            color=_COLOURS[who.engine],
            label=who.title,
        )
        axes.bar_label(drawn, [f" {ratio:.2f} " for _, ratio in bars], fontsize=8)
    for i, work in enumerate(works):
        target = results.suite[work].marks.target
        if target is not None:
            # Labels that begin with an underscore stay out of the legend; one mark of all is named there.
            label = "_target" if "target" in axes.get_legend_handles_labels()[1] else "target"
            axes.vlines(target, i - 0.45, i + 0.45, colors="black", linestyles="dotted", label=label)
    axes.axvline(1, color="grey", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(works)), [results.suite[work].title for work in works])
    axes.invert_yaxis()
    axes.margins(x=0.12, y=0.01)
    axes.set_xlabel("time, plain Spark Parquet = 1 (to the left is faster)")
    axes.set_title(f"{results.settings.rows:,} rows of 10 columns, {results.settings.cores} cores")
    axes.legend(loc="best", fontsize=8)
    figure.savefig(path, dpi=120)
