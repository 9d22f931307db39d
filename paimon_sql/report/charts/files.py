"""Charts of live files: their sizes, levels, sorted runs, and partitions."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from paimon_sql.format.options.operations.compaction import (
    COMPACTION_MIN_FILE_NUM,
    NUM_SORTED_RUNS_COMPACTION_TRIGGER,
)
from paimon_sql.report.charts.base import (
    HEIGHT,
    NARROW,
    ROW,
    Chart,
    bytes_on,
    label_bar,
    legend,
    round_size,
    shorten,
)
from paimon_sql.report.facts import Facts
from paimon_sql.report.style import Palette, axes, series_colour
from paimon_sql.system_tables.formatting import counted, size_text

_BUCKETS_SHOWN = 20
_PARTITIONS_SHOWN = 15
_TRIGGER = NUM_SORTED_RUNS_COMPACTION_TRIGGER.default


class OfBuckets(Chart):
    """A chart of the buckets."""

    def applies(self, facts: Facts) -> bool:
        return bool(facts.buckets)


class FileSizes(Chart):
    """Sizes of live data files."""

    name = "file_sizes"
    title = "File sizes"
    about = "Live data files by size."

    def applies(self, facts: Facts) -> bool:
        return len(facts.sizes) > 0

    def draw(self, facts: Facts, palette: Palette, width: float) -> Figure:
        figure, ax = axes(width, HEIGHT)
        powers = np.log2(np.maximum(facts.sizes.to_numpy(), 1))
        first, last = int(np.floor(powers.min())), int(np.floor(powers.max())) + 1
        edges = np.arange(first, max(last, first + 4) + 1)
        counts, _ = np.histogram(powers, bins=edges)
        ax.bar(edges[:-1], counts, width=0.92, align="edge", color=palette["one"])
        small = np.log2(max(facts.layout.small_size, 1))
        if facts.packs_small_files and edges[0] <= small <= edges[-1]:
            ax.axvline(small, color=palette["two"], lw=1.4, ls="--")
        ax.set_xlim(edges[0], edges[-1])
        ax.xaxis.set_major_locator(MaxNLocator(nbins=5 if width < NARROW else 9, integer=True))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda power, _: round_size(2.0**power)))
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_ylabel("files")
        ax.grid(axis="x", visible=False)
        return figure

    def remark(self, facts: Facts) -> str | None:
        layout = facts.layout
        if facts.keys:
            return "Compaction merges the sorted runs of this table, whatever the sizes of its files."
        if not facts.packs_small_files:
            return None
        below = f"{layout.small:,} of {counted(layout.files, 'file is', 'files are')} smaller than"
        small = f"{below} {size_text(layout.small_size)}"
        if layout.buckets_to_compact or not layout.small:
            return f"{small}."
        least = max(int(facts.options.get(COMPACTION_MIN_FILE_NUM.key, COMPACTION_MIN_FILE_NUM.default)), 2)
        return f"{small}; this is well, as no bucket has {least} of them, with which a compaction begins."


class Levels(OfBuckets):
    """Bytes by level of the buckets with the most sorted runs."""

    name = "levels"
    title = "Levels per bucket"
    about = "Bytes per level; next to each bar, the sorted runs that a read merges, or the files that it opens."

    def draw(self, facts: Facts, palette: Palette, width: float) -> Figure:
        shown = facts.buckets[:_BUCKETS_SHOWN][::-1]
        figure, ax = axes(width, max(1.4, 0.9 + ROW * len(shown)))
        levels = sorted({level for b in shown for level in b.levels})
        labels = [shorten(b.label, 20 if width < NARROW else 40) for b in shown]
        left = np.zeros(len(shown))
        for index, level in enumerate(levels):
            sizes = np.array([b.levels.get(level, 0) for b in shown], np.float64)
            name = f"level {level}" if facts.keys else "files"
            ax.barh(range(len(shown)), sizes, left=left, height=0.72, color=series_colour(palette, index), label=name)
            left += sizes
        what = ("run", "runs") if facts.keys else ("file", "files")
        for row, bucket in enumerate(shown):
            label_bar(ax, left[row], row, counted(bucket.runs, *what), palette["quiet"])
        ax.set_yticks(range(len(shown)), labels, fontsize=8.5)
        ax.set_xlim(right=max(left.max(), 1) * (1.32 if width < NARROW else 1.18))
        ax.set_ylim(-0.6, len(shown) - 0.4)
        ax.grid(axis="y", visible=False)
        bytes_on(ax.xaxis, 3 if width < NARROW else 6)
        if facts.keys:
            legend(ax)
        return figure

    def remark(self, facts: Facts) -> str | None:
        more = len(facts.buckets) - _BUCKETS_SHOWN
        skew = _skew("bucket", "buckets", [b.bytes for b in facts.buckets])
        rest = f"Only the {_BUCKETS_SHOWN} with most to merge are shown, not {more:,} others." if more > 0 else None
        return " ".join(filter(None, [skew, rest])) or None


class ReadAmplification(OfBuckets):
    """Numbers of sorted runs or files by bucket."""

    name = "read_amplification"
    title = "Read amplification"
    about = "Number of buckets by sorted runs, which a read merges, or files, which it opens."

    def draw(self, facts: Facts, palette: Palette, width: float) -> Figure:
        figure, ax = axes(width, HEIGHT)
        runs = np.array([b.runs for b in facts.buckets])
        trigger = int(facts.options.get(NUM_SORTED_RUNS_COMPACTION_TRIGGER.key, _TRIGGER)) if facts.keys else 0
        last = max(int(runs.max()), trigger, 4)
        step = max(1, -(-last // 40))
        edges = np.arange(1, last + step + 1, step)
        counts, _ = np.histogram(runs, bins=edges)
        heavy = (edges[:-1] >= trigger) if trigger else np.zeros(len(counts), np.bool_)
        colours = [palette["two"] if is_heavy else palette["one"] for is_heavy in heavy]
        ax.bar(edges[:-1] + (step - 1) / 2, counts, width=0.86 * step, color=colours)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=6 if width < NARROW else 10, integer=True))
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlabel("sorted runs" if facts.keys else "files")
        ax.set_ylabel("buckets")
        ax.grid(axis="x", visible=False)
        return figure

    def remark(self, facts: Facts) -> str | None:
        mean = sum(b.runs for b in facts.buckets) / len(facts.buckets)
        what = "sorted runs" if facts.keys else "files"
        text = f"On average {mean:.1f} {what}, at most {max(b.runs for b in facts.buckets):,}."
        if facts.keys:
            trigger = facts.options.get(NUM_SORTED_RUNS_COMPACTION_TRIGGER.key, str(_TRIGGER))
            text += f" Writes compact buckets with {trigger} or more."
        if hidden := facts.layout.hidden:
            text += f" {hidden:,} of {facts.layout.records:,} records are marked as deleted and skipped by reads."
        return text


class Partitions(Chart):
    """Bytes and files of the largest partitions."""

    name = "partitions"
    title = "Sizes of partitions"
    about = "Bytes of live files, and next to each bar their number; the largest partitions."

    def applies(self, facts: Facts) -> bool:
        return bool(facts.partitions)

    def draw(self, facts: Facts, palette: Palette, width: float) -> Figure:
        shown = facts.partitions[:_PARTITIONS_SHOWN][::-1]
        figure, ax = axes(width, max(1.4, 0.9 + ROW * len(shown)))
        sizes = [p.bytes for p in shown]
        ax.barh(range(len(shown)), sizes, height=0.72, color=palette["one"])
        for row, partition in enumerate(shown):
            text = f"{size_text(partition.bytes)}, {counted(partition.files, 'file', 'files')}"
            label_bar(ax, partition.bytes, row, text, palette["quiet"])
        ax.set_yticks(range(len(shown)), [shorten(p.label, 20 if width < NARROW else 40) for p in shown], fontsize=8.5)
        ax.set_xlim(right=max(*sizes, 1) * (1.9 if width < NARROW else 1.4))
        ax.set_ylim(-0.6, len(shown) - 0.4)
        ax.grid(axis="y", visible=False)
        bytes_on(ax.xaxis, 3 if width < NARROW else 6)
        return figure

    def remark(self, facts: Facts) -> str | None:
        more = len(facts.partitions) - _PARTITIONS_SHOWN
        rest = f"{counted(more, 'smaller one is', 'smaller ones are')} not shown." if more > 0 else None
        skew = _skew("partition", "partitions", [p.bytes for p in facts.partitions])
        return " ".join(filter(None, [skew, rest])) or None


def _skew(one: str, more: str, sizes: Sequence[int]) -> str | None:
    """How the largest differs from the others; None if there are none."""
    if len(sizes) < 2:
        return None
    largest = max(sizes)
    text = f"The largest of {counted(len(sizes), one, more)} has {largest / max(sum(sizes), 1):.0%} of the bytes"
    return f"{text}, {largest / max(median(sizes), 1):.1f} times the median."
