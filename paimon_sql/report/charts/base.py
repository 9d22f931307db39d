"""Charts, and what they have in common: axes of times and sizes, labels of bars."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import ClassVar

import matplotlib.dates as dates
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, Locator

from paimon_sql.report.facts import Facts
from paimon_sql.report.style import Palette
from paimon_sql.system_tables.formatting import size_text

HEIGHT = 3.0
"""The height of most charts in inches."""
ROW = 0.30
"""The height of a row of bars in inches."""
NARROW = 5
"""Charts below this width in inches are for phones: they have fewer ticks and shorter labels."""
_UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
_MARGIN = timedelta(seconds=2)


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
        """Whether the chart is part of the report."""

    @abstractmethod
    def draw(self, facts: Facts, palette: Palette, width: float) -> Figure:
        """Draw the chart.

        Args:
            facts: the data.
            palette: the colours.
            width: the width in inches.
        """

    def is_drawn(self, facts: Facts) -> bool:
        """Whether there is a figure; otherwise only the remark is shown."""
        return True

    def remark(self, facts: Facts) -> str | None:
        """A sentence on the data that the chart does not show."""
        return None


def label_bar(ax: Axes, end: float, row: int, text: str, colour: str) -> None:
    """Write a text at the end of a horizontal bar."""
    ax.annotate(text, (end, row), (5, 0), textcoords="offset points", va="center", fontsize=9, color=colour)


def time_axis(ax: Axes, times: Sequence[datetime], width: float) -> None:
    """Scale an axis in times: ticks name the part that differs, the label below them the rest."""
    first, last = min(times), max(times)
    margin = max((last - first) / 20, _MARGIN)
    ax.set_xlim(dates.date2num(first - margin), dates.date2num(last + margin))
    tick, rest = _tick_and_rest(last - first)
    locator = dates.AutoDateLocator(minticks=2, maxticks=3 if width < NARROW else 6)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(dates.DateFormatter(tick))
    around = list(dict.fromkeys(time.strftime(rest) for time in (first, last))) if rest else []
    ax.set_xlabel(" to ".join(around))


def _tick_and_rest(span: timedelta) -> tuple[str, str]:
    """The formats of ticks and of the label below them."""
    if span < timedelta(minutes=3):
        return "%H:%M:%S", "%Y-%m-%d"
    if span < timedelta(days=1):
        return "%H:%M", "%Y-%m-%d"
    if span < timedelta(days=5):
        return "%m-%d %H:%M", "%Y"
    return ("%m-%d", "%Y") if span < timedelta(days=200) else ("%Y-%m", "")


def duration_text(seconds: float) -> str:
    """Format a duration: ``40 ms``, ``1.5 s``, ``12 min``, ``3 h``, ``2 d``."""
    for unit, size in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1000:.0f} ms"


def bytes_on(axis: Axis, ticks: int) -> None:
    """Scale an axis in bytes: about so many ticks, at multiples of a power of two."""
    axis.set_major_locator(_BytesLocator(ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: ("-" if value < 0 else "") + round_size(abs(value))))


def round_size(size: float) -> str:
    """Format a size without decimals that are 0."""
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


def legend(ax: Axes) -> None:
    """Add the legend above the axes."""
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=6, fontsize=9, handlelength=1.1, columnspacing=1.2)


def short(value: float) -> str:
    """Format a number with a letter for its power of thousand."""
    for power, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= power:
            return f"{value / power:g}{unit}"
    return f"{value:g}"


def shorten(text: str, max_length: int) -> str:
    """Cut the middle out of a text that is too long."""
    return text if len(text) <= max_length else f"{text[: max_length // 2 - 1]}…{text[-(max_length // 2) :]}"
