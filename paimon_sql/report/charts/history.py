"""Charts of the newest snapshots: records, bytes, how often and how quickly commits are made."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median

import matplotlib.dates as dates
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from paimon_sql.report.charts.base import (
    HEIGHT,
    NARROW,
    Chart,
    bytes_on,
    duration_text,
    legend,
    short,
    shorten,
    time_axis,
)
from paimon_sql.report.facts import Facts, Mark
from paimon_sql.report.style import Palette, axes, series_colour
from paimon_sql.system_tables.formatting import counted

_KINDS = ("APPEND", "COMPACT", "OVERWRITE", "ANALYZE")
_MARKS, _MARKS_ON_PHONES = 12, 6
_BINS = 30
_SPANS = [timedelta(seconds=s) for s in (1, 10, 60, 600, 3600, 21_600)] + [timedelta(days=d) for d in (1, 7, 30, 365)]


class OverTime(Chart):
    """A chart of the newest snapshots."""

    def remark(self, facts: Facts) -> str | None:
        shown, older = len(facts.commits), facts.snapshots - len(facts.commits)
        newest, others = counted(shown, "snapshot is", "snapshots are"), counted(older, "older one", "older ones")
        return f"Only the newest {newest} shown, not {others}." if older > 0 else None


class RowsOverTime(OverTime):
    """Records after each snapshot."""

    name = "rows"
    title = "Records over time"
    about = (
        "Records in all live files after each snapshot, before merging; the colour of a dot shows its kind. Lines mark"
        " tags and branches."
    )

    def applies(self, facts: Facts) -> bool:
        return any(c.records is not None for c in facts.commits)

    def draw(self, facts: Facts, palette: Palette, width: float) -> Figure:
        figure, ax = axes(width, HEIGHT)
        points = [c for c in facts.commits if c.records is not None]
        records = [c.records or 0 for c in points]
        ax.step(np.array([dates.date2num(c.time) for c in points]), records, where="post", color=palette["six"], lw=1.2)
        _dots(ax, palette, [(c.kind, c.time, c.records or 0) for c in points])
        shown = [mark for mark in facts.marks if mark.time >= points[0].time]
        time_axis(ax, [*(c.time for c in points), *(mark.time for mark in shown)], width)
        _draw_marks(ax, palette, shown, width)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
        ax.set_ylim(0, max(*records, 1) * 1.08)
        legend(ax)
        return figure

    def remark(self, facts: Facts) -> str | None:
        older = [mark for mark in facts.marks if facts.commits and mark.time < facts.commits[0].time]
        text = f"{counted(len(older), 'tag or branch is', 'tags and branches are')} older." if older else None
        return " ".join(filter(None, [super().remark(facts), text])) or None


class BytesOverTime(OverTime):
    """Live bytes, and bytes added and deleted by each snapshot."""

    name = "bytes"
    title = "Bytes over time"
    about = "The line is the size of all live data files; bars show what each snapshot added and, downwards, removed."

    def applies(self, facts: Facts) -> bool:
        return bool(facts.commits)

    def draw(self, facts: Facts, palette: Palette, width: float) -> Figure:
        figure, ax = axes(width, HEIGHT)
        ids = [c.id for c in facts.commits]
        ax.bar(ids, [c.added_bytes for c in facts.commits], width=0.8, color=palette["three"], label="added")
        ax.bar(ids, [-c.removed_bytes for c in facts.commits], width=0.8, color=palette["five"], label="removed")
        ax.step(ids, [c.live_bytes for c in facts.commits], where="mid", color=palette["one"], lw=1.8, label="live")
        ax.axhline(0, color=palette["line"], lw=1)
        ax.set_xlabel("snapshot")
        ax.xaxis.set_major_locator(MaxNLocator(nbins=6 if width < NARROW else 12, integer=True))
        bytes_on(ax.yaxis, 6)
        legend(ax)
        return figure


class CommitFrequency(OverTime):
    """Commits per span of time."""

    name = "commit_frequency"
    title = "Frequency of commits"
    about = "Snapshots per span of time, by kind."

    def applies(self, facts: Facts) -> bool:
        return len(facts.commits) > 1

    def draw(self, facts: Facts, palette: Palette, width: float) -> Figure:
        figure, ax = axes(width, HEIGHT)
        times = [c.time for c in facts.commits]
        whole = max(times) - min(times)
        span = next((s for s in _SPANS if whole <= s * _BINS), _SPANS[-1])
        start = datetime.min + (min(times) - datetime.min) // span * span
        count = (max(times) - start) // span + 1
        below, days = np.zeros(count), span.total_seconds() / 86_400
        edges = dates.date2num([start + span * i for i in range(count)])
        for index, kind in enumerate(_KINDS):
            places = [(c.time - start) // span for c in facts.commits if c.kind == kind]
            if places:
                counts = np.bincount(places, minlength=count)
                colour = series_colour(palette, index)
                ax.bar(edges, counts, width=0.9 * days, align="edge", bottom=below, color=colour, label=kind)
                below += counts
        time_axis(ax, [*times, start, start + span * count], width)
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_ylabel(f"per {duration_text(span.total_seconds())}")
        ax.grid(axis="x", visible=False)
        legend(ax)
        return figure

    def remark(self, facts: Facts) -> str | None:
        pauses = [(later.time - earlier.time).total_seconds() for earlier, later in pairwise(facts.commits)]
        text = (
            f"A commit every {duration_text(sum(pauses) / len(pauses))} on average;"
            f" the longest pause was {duration_text(max(pauses))}."
        )
        return " ".join(filter(None, [text, super().remark(facts)]))


class CommitDuration(OverTime):
    """Time from the first data file of a commit to its snapshot."""

    name = "commit_duration"
    title = "Duration of commits"
    about = "Time from the first finished data file of a commit to its snapshot; later files and the commit take it."

    def applies(self, facts: Facts) -> bool:
        return any(c.seconds is not None for c in facts.commits)

    def draw(self, facts: Facts, palette: Palette, width: float) -> Figure:
        figure, ax = axes(width, HEIGHT)
        points = [(c.kind, c.time, c.seconds) for c in facts.commits if c.seconds is not None]
        _dots(ax, palette, points)
        time_axis(ax, [time for _, time, _ in points], width)
        ax.set_ylim(0, max(*(seconds for *_, seconds in points), 0.001) * 1.08)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: duration_text(value) if value else "0"))
        legend(ax)
        return figure

    def remark(self, facts: Facts) -> str | None:
        slowest = max((c for c in facts.commits if c.seconds is not None), key=lambda c: c.seconds or 0)
        middle = median(c.seconds for c in facts.commits if c.seconds is not None)
        text = (
            f"Half of them take at most {duration_text(middle)}; the longest took"
            f" {duration_text(slowest.seconds or 0)} (snapshot {slowest.id})."
        )
        return " ".join(filter(None, [text, super().remark(facts)]))


def _dots(ax: Axes, palette: Palette, points: Sequence[tuple[str, datetime, float]]) -> None:
    """Draw a dot per snapshot, by kind."""
    for index, kind in enumerate(_KINDS):
        of_kind = [(dates.date2num(time), value) for of, time, value in points if of == kind]
        if of_kind:
            xs, ys = zip(*of_kind, strict=True)
            ax.scatter(xs, ys, s=16, color=series_colour(palette, index), label=kind, zorder=3)


def _draw_marks(ax: Axes, palette: Palette, marks: Sequence[Mark], width: float) -> None:
    """Draw a line per tag and branch, with its name; those that are close together share a label."""
    left, right = ax.get_xlim()
    places = _MARKS_ON_PHONES if width < NARROW else _MARKS
    labels: dict[int, tuple[float, list[str]]] = {}
    for mark in sorted(marks, key=lambda m: m.time):
        x = float(dates.date2num(mark.time))
        ax.axvline(x, color=palette["five" if mark.is_branch else "four"], lw=1, ls=":", zorder=1)
        _, names = labels.setdefault(int((x - left) / (right - left) * places), (x, []))
        names.append(f"branch {mark.name}" if mark.is_branch else mark.name)
    for x, names in labels.values():
        ax.annotate(
            shorten(", ".join(names), 22), (x, 0.02), (-2, 0), xycoords=("data", "axes fraction"),
            textcoords="offset points", rotation=90, ha="right", va="bottom", fontsize=8.5, color=palette["quiet"],
        )  # fmt: skip
