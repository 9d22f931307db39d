"""Charts of what retains space."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paimon_sql.report.charts.base import NARROW, Chart, bytes_on, label_bar
from paimon_sql.report.facts import Facts
from paimon_sql.report.style import Palette, axes, series_colour
from paimon_sql.system_tables.formatting import counted, size_text


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
            label_bar(ax, size, row, size_text(size), palette["ink"])
        ax.set_yticks(range(len(parts)), [name for name, _ in parts][::-1])
        ax.set_xlim(right=max(*sizes, 1) * (1.4 if width < NARROW else 1.2))
        ax.grid(axis="y", visible=False)
        bytes_on(ax.xaxis, 3 if width < NARROW else 6)
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

    def is_drawn(self, facts: Facts) -> bool:
        return facts.expiry is not None and bool(facts.expiry.snapshots)

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
            return "Nothing to expire" + (f": {facts.expiry.reason}." if facts.expiry.reason else ".")
        freed = facts.expiry.files
        what = f"{counted(expired, 'snapshot', 'snapshots')} and {counted(freed.count, 'file', 'files')}"
        return f"{what} of {size_text(freed.bytes)} would be removed."


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
        label_bar(ax, value, row, format_value(value), palette["ink"])
    ax.set_yticks([1, 0], ["before", "after"])
    ax.set_xticks([])
    ax.set_xlim(0, max(before, 1) * 1.45)
    ax.set_title(title, fontsize=10, color=palette["quiet"], loc="left")
    ax.spines["bottom"].set_visible(False)
    ax.grid(visible=False)
