"""Charts of a report, one small class each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

import matplotlib.dates as dates
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, Locator, MaxNLocator

from paimon_sql.format.options.operations.compaction import NUM_SORTED_RUNS_COMPACTION_TRIGGER
from paimon_sql.report.facts import Facts
from paimon_sql.report.style import Palette, axes, series_colour
from paimon_sql.system_tables.formatting import size_text

_HEIGHT = 3.0
_ROW = 0.30
_BUCKETS_SHOWN = 20
_KINDS = ("APPEND", "COMPACT", "OVERWRITE", "ANALYZE")


class Chart(ABC):
    """A chart.

    Attributes:
        name: the name of its file.
        title: its title.
        about: a sentence on how to read it.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]

    @abstractmethod
    def applies(self, facts: Facts) -> bool:
        """Whether there are data to show."""

    @abstractmethod
    def draw(self, facts: Facts, palette: Palette, width: float) -> Figure:
        """Draw the chart.

        Args:
            facts: the data.
            palette: the colours.
            width: the width in inches.
        """

    def remark(self, facts: Facts) -> str | None:
        """A sentence on the data that the chart does not show."""
        return None


class OverTime(Chart):
    """A chart of the newest snapshots."""

    def remark(self, facts: Facts) -> str | None:
        shown, older = len(facts.commits), facts.snapshots - len(facts.commits)
        return f"Only the newest {shown:,} snapshots are shown, not {older:,} older ones." if older > 0 else None


class OfBuckets(Chart):
    """A chart of the buckets."""

    def applies(self, facts: Facts) -> bool:
        return bool(facts.buckets)


class RowsOverTime(OverTime):
    """Records after each snapshot."""

    name = "rows"
    title = "Records over time"
    about = "Records in all live files after each snapshot, before merging; the colour of a dot shows its kind."

    def applies(self, facts: Facts) -> bool:
        return any(c.records is not None for c in facts.commits)

    def draw(self, facts: Facts, palette: Palette, width: float) -> Figure:
        figure, ax = axes(width, _HEIGHT)
        points = [c for c in facts.commits if c.records is not None]
        records = [c.records or 0 for c in points]
        ax.step(np.array([dates.date2num(c.time) for c in points]), records, where="post", color=palette["six"], lw=1.2)
        for index, kind in enumerate(_KINDS):
            of_kind = [(dates.date2num(c.time), c.records) for c in points if c.kind == kind]
            if of_kind:
                xs, ys = zip(*of_kind, strict=True)
                ax.scatter(xs, ys, s=16, color=series_colour(palette, index), label=kind, zorder=3)
        _time_axis(ax, width)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
        ax.set_ylim(bottom=0)
        _legend(ax)
        return figure


class BytesOverTime(OverTime):
    """Live bytes, and bytes added and deleted by each snapshot."""

    name = "bytes"
    title = "Bytes over time"
    about = "The line is the size of all live data files; bars show what each snapshot added and, downwards, removed."

    def applies(self, facts: Facts) -> bool:
        return bool(facts.commits)

    def draw(self, facts: Facts, palette: Palette, width: float) -> Figure:
        figure, ax = axes(width, _HEIGHT)
        ids = [c.id for c in facts.commits]
        ax.bar(ids, [c.added_bytes for c in facts.commits], width=0.8, color=palette["three"], label="added")
        ax.bar(ids, [-c.removed_bytes for c in facts.commits], width=0.8, color=palette["five"], label="removed")
        ax.step(ids, [c.live_bytes for c in facts.commits], where="mid", color=palette["one"], lw=1.8, label="live")
        ax.axhline(0, color=palette["line"], lw=1)
        ax.set_xlabel("snapshot")
        ax.xaxis.set_major_locator(MaxNLocator(nbins=6 if width < 5 else 12, integer=True))
        _bytes_on(ax.yaxis, 6)
        _legend(ax)
        return figure


class FileSizes(Chart):
    """Sizes of live data files."""

    name = "file_sizes"
    title = "File sizes"
    about = "Live data files by size; compaction treats those left of the dashed line as small."

    def applies(self, facts: Facts) -> bool:
        return len(facts.sizes) > 0

    def draw(self, facts: Facts, palette: Palette, width: float) -> Figure:
        figure, ax = axes(width, _HEIGHT)
        powers = np.log2(np.maximum(facts.sizes.to_numpy(), 1))
        first, last = int(np.floor(powers.min())), int(np.floor(powers.max())) + 1
        edges = np.arange(first, max(last, first + 4) + 1)
        counts, _ = np.histogram(powers, bins=edges)
        ax.bar(edges[:-1], counts, width=0.92, align="edge", color=palette["one"])
        small = np.log2(max(facts.layout.small_size, 1))
        if edges[0] <= small <= edges[-1]:
            ax.axvline(small, color=palette["two"], lw=1.4, ls="--")
        ax.set_xlim(edges[0], edges[-1])
        ax.xaxis.set_major_locator(MaxNLocator(nbins=5 if width < 5 else 9, integer=True))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda power, _: _round_size(2.0**power)))
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_ylabel("files")
        ax.grid(axis="x", visible=False)
        return figure

    def remark(self, facts: Facts) -> str | None:
        small, files = facts.layout.small, facts.layout.files
        if not files:
            return None
        return f"{small:,} of {files:,} files are below {size_text(facts.layout.small_size)}."


class Levels(OfBuckets):
    """Bytes by level of the buckets with the most sorted runs."""

    name = "levels"
    title = "Levels per bucket"
    about = "Bytes per level; next to each bar, the sorted runs that a read merges, or the files that it opens."

    def draw(self, facts: Facts, palette: Palette, width: float) -> Figure:
        shown = facts.buckets[:_BUCKETS_SHOWN][::-1]
        figure, ax = axes(width, max(1.4, 0.9 + _ROW * len(shown)))
        levels = sorted({level for b in shown for level in b.levels})
        labels = [_shorten(b.label, 20 if width < 5 else 40) for b in shown]
        left = np.zeros(len(shown))
        for index, level in enumerate(levels):
            sizes = np.array([b.levels.get(level, 0) for b in shown], np.float64)
            name = f"level {level}" if facts.keys else "files"
            ax.barh(range(len(shown)), sizes, left=left, height=0.72, color=series_colour(palette, index), label=name)
            left += sizes
        what = "runs" if facts.keys else "files"
        for row, bucket in enumerate(shown):
            _label_bar(ax, left[row], row, f"{bucket.runs:,} {what}", palette["quiet"])
        ax.set_yticks(range(len(shown)), labels, fontsize=8.5)
        ax.set_xlim(right=max(left.max(), 1) * (1.32 if width < 5 else 1.18))
        ax.set_ylim(-0.6, len(shown) - 0.4)
        ax.grid(axis="y", visible=False)
        _bytes_on(ax.xaxis, 3 if width < 5 else 6)
        if facts.keys:
            _legend(ax)
        return figure

    def remark(self, facts: Facts) -> str | None:
        more = len(facts.buckets) - _BUCKETS_SHOWN
        return f"Only the {_BUCKETS_SHOWN} with most to merge are shown; {more:,} are not." if more > 0 else None


class ReadAmplification(OfBuckets):
    """Numbers of sorted runs or files by bucket."""

    name = "read_amplification"
    title = "Read amplification"
    about = "Number of buckets by sorted runs, which a read merges, or files, which it opens."

    def draw(self, facts: Facts, palette: Palette, width: float) -> Figure:
        figure, ax = axes(width, _HEIGHT)
        runs = np.array([b.runs for b in facts.buckets])
        trigger = int(facts.options.get(NUM_SORTED_RUNS_COMPACTION_TRIGGER.key, _TRIGGER)) if facts.keys else 0
        last = max(int(runs.max()), trigger, 4)
        step = max(1, -(-last // 40))
        edges = np.arange(1, last + step + 1, step)
        counts, _ = np.histogram(runs, bins=edges)
        heavy = (edges[:-1] >= trigger) if trigger else np.zeros(len(counts), np.bool_)
        colours = [palette["two"] if is_heavy else palette["one"] for is_heavy in heavy]
        ax.bar(edges[:-1] + (step - 1) / 2, counts, width=0.86 * step, color=colours)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=6 if width < 5 else 10, integer=True))
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


class RetainedSpace(Chart):
    """Bytes by what retains them."""

    name = "space"
    title = "Retained space"
    about = "Each file counts once, for the first category in this order that needs it."

    def applies(self, facts: Facts) -> bool:
        return facts.space.total > 0

    def draw(self, facts: Facts, palette: Palette, width: float) -> Figure:
        parts = [(name, size) for name, size in space_parts(facts) if size]
        figure, ax = axes(width, 0.9 + 0.36 * len(parts))
        sizes = [size for _, size in parts][::-1]
        ax.barh(
            range(len(parts)), sizes, height=0.68, color=[series_colour(palette, i) for i in range(len(parts))][::-1]
        )
        for row, size in enumerate(sizes):
            _label_bar(ax, size, row, size_text(size), palette["ink"])
        ax.set_yticks(range(len(parts)), [name for name, _ in parts][::-1])
        ax.set_xlim(right=max(*sizes, 1) * (1.4 if width < 5 else 1.2))
        ax.grid(axis="y", visible=False)
        _bytes_on(ax.xaxis, 3 if width < 5 else 6)
        return figure

    def remark(self, facts: Facts) -> str | None:
        sentences = []
        if not (facts.space.all_snapshots and facts.space.all_tags):
            sentences.append("Only the newest snapshots and tags were read; older ones may retain more.")
        if facts.orphans is None:
            sentences.append("Orphan files were not searched for; orphans => true includes them.")
        return " ".join(sentences) or None


class ExpiryNow(Chart):
    """The effect of an expiration of snapshots."""

    name = "expiry"
    title = "Expiration before and after"
    about = "What sys.expire_snapshots would do now by the table's own options."

    def applies(self, facts: Facts) -> bool:
        return facts.expiry is not None and facts.snapshots > 0

    def draw(self, facts: Facts, palette: Palette, width: float) -> Figure:
        assert facts.expiry is not None
        figure = Figure(figsize=(width, 1.9), layout="constrained")
        left, right = figure.subplots(1, 2)
        expired, freed = len(facts.expiry.snapshots), facts.expiry.files.bytes
        total = max(facts.space.total, freed)
        _before_and_after(left, palette, "snapshots", facts.snapshots, facts.snapshots - expired, lambda n: f"{n:,.0f}")
        _before_and_after(right, palette, "bytes", total, total - freed, size_text)
        return figure

    def remark(self, facts: Facts) -> str | None:
        assert facts.expiry is not None
        expired = len(facts.expiry.snapshots)
        if not expired:
            return "Nothing would be removed" + (f": {facts.expiry.reason}." if facts.expiry.reason else ".")
        freed = facts.expiry.files
        return f"{expired:,} snapshots and {freed.count:,} files of {size_text(freed.bytes)} would be removed."


CHARTS: Sequence[Chart] = tuple(
    kind() for kind in (RowsOverTime, BytesOverTime, FileSizes, ReadAmplification, Levels, RetainedSpace, ExpiryNow)
)
"""All charts, in the order of the page."""
_TRIGGER = NUM_SORTED_RUNS_COMPACTION_TRIGGER.default


def space_parts(facts: Facts) -> list[tuple[str, int]]:
    """The bytes of a table by what retains them."""
    space = facts.space
    parts = [
        ("live data", space.live),
        ("older snapshots", space.older),
        ("tags", space.tags),
        ("changelogs", space.changelogs),
        ("indexes", space.indexes),
        ("metadata", space.metadata),
    ]
    return parts if facts.orphans is None else [*parts, ("orphans", facts.orphans.bytes)]


def _before_and_after(
    ax: Axes, palette: Palette, title: str, before: float, after: float, format_value: Callable[[float], str]
) -> None:
    ax.barh([1, 0], [before, after], height=0.62, color=[palette["six"], palette["three"]])
    for row, value in ((1, before), (0, after)):
        _label_bar(ax, value, row, format_value(value), palette["ink"])
    ax.set_yticks([1, 0], ["before", "after"])
    ax.set_xticks([])
    ax.set_xlim(0, max(before, 1) * 1.45)
    ax.set_title(title, fontsize=10, color=palette["quiet"], loc="left")
    ax.spines["bottom"].set_visible(False)
    ax.grid(visible=False)


def _label_bar(ax: Axes, end: float, row: int, text: str, colour: str) -> None:
    """Write a text at the end of a horizontal bar."""
    ax.annotate(text, (end, row), (5, 0), textcoords="offset points", va="center", fontsize=9, color=colour)


def _time_axis(ax: Axes, width: float) -> None:
    locator = dates.AutoDateLocator(minticks=2, maxticks=3 if width < 5 else 7)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))


def _bytes_on(axis: Axis, ticks: int) -> None:
    """Scale an axis in bytes: about so many ticks, at multiples of a power of two."""
    axis.set_major_locator(_BytesLocator(ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: ("-" if value < 0 else "") + _round_size(abs(value))))


def _round_size(size: float) -> str:
    return size_text(size).replace(".0 ", " ")


class _BytesLocator(Locator):
    """Ticks at round values in KiB, MiB and so on."""

    def __init__(self, ticks: int) -> None:
        self._ticks = ticks

    def __call__(self) -> Sequence[float]:
        assert self.axis is not None
        return self.tick_values(*self.axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        step = 2.0 ** np.ceil(np.log2(max((vmax - vmin) / self._ticks, 1)))
        ticks: list[float] = (np.arange(np.ceil(vmin / step), np.floor(vmax / step) + 1) * step).tolist()
        return ticks


def _legend(ax: Axes) -> None:
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=6, fontsize=9, handlelength=1.1, columnspacing=1.2)


def _short(value: float) -> str:
    for power, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= power:
            return f"{value / power:g}{unit}"
    return f"{value:g}"


def _shorten(text: str, max_length: int) -> str:
    return text if len(text) <= max_length else f"{text[: max_length // 2 - 1]}…{text[-(max_length // 2) :]}"
