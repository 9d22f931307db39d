"""How charts look: the colours of the two themes, and a figure as SVG that follows the page's theme or as PNG.

Charts are drawn in stand-in colours, one for each role; the SVG names the roles as CSS variables in their place, so
that one drawing serves the light and the dark page. A PNG is drawn with the light theme's own colours.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

LIGHT = {
    "ink": "#1d2733",
    "quiet": "#5b6775",
    "line": "#d9dee5",
    "paper": "#ffffff",
    "one": "#2a6fbb",
    "two": "#d9822b",
    "three": "#2f9e77",
    "four": "#8e5bb5",
    "five": "#c44e63",
    "six": "#8a8f98",
}
"""The roles of colours, and what they are on the light page."""
DARK = {
    "ink": "#e8ecf1",
    "quiet": "#9aa6b4",
    "line": "#36404d",
    "paper": "#171c23",
    "one": "#6aa9ee",
    "two": "#f0a65a",
    "three": "#5cc9a0",
    "four": "#bd92e0",
    "five": "#ec8799",
    "six": "#8f98a5",
}
"""The same on the dark page."""
_STAND_INS = {role: f"#0{place:x}f0{place:x}e" for place, role in enumerate(LIGHT, start=1)}
_FONT = "DejaVu Sans"
SERIES = ("one", "two", "three", "four", "five", "six")
"""The roles that tell series apart, in order."""


class Palette:
    """The colours that a chart is drawn in."""

    def __init__(self, colours: dict[str, str]) -> None:
        self._colours = colours

    def __getitem__(self, role: str) -> str:
        return self._colours[role]

    def series(self, place: int) -> str:
        """The colour of a series, by its place; they come round again."""
        return self._colours[SERIES[place % len(SERIES)]]


THEMED = Palette(_STAND_INS)
"""For pages: becomes CSS variables."""
PRINTED = Palette(LIGHT)
"""For pictures."""


@contextmanager
def drawing(palette: Palette) -> Iterator[None]:
    """Within it, figures have the report's manner."""
    manner = {
        "font.family": _FONT,
        "font.size": 10,
        "svg.fonttype": "none",
        "svg.hashsalt": "paimon-sql",
        "text.color": palette["ink"],
        "axes.labelcolor": palette["quiet"],
        "axes.edgecolor": palette["line"],
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "axes.facecolor": "none",
        "grid.color": palette["line"],
        "grid.linewidth": 0.7,
        "xtick.color": palette["line"],
        "ytick.color": palette["line"],
        "xtick.labelcolor": palette["quiet"],
        "ytick.labelcolor": palette["quiet"],
        "legend.frameon": False,
        "legend.labelcolor": palette["ink"],
        "figure.facecolor": "none",
        "text.parse_math": False,  # names may hold what would pass for formulas
    }
    with mpl.rc_context(manner), warnings.catch_warnings():
        # Names may be in any script; a browser has fonts for what matplotlib's own lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        yield


def axes(width: float, height: float) -> tuple[Figure, Axes]:
    """A new figure with one pair of axes; inches, of which a page shows 96 points each."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def as_svg(figure: Figure, title: str) -> str:
    """A figure drawn in `THEMED` colours as an ``svg`` element for a page."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    for role, colour in _STAND_INS.items():
        text = text.replace(colour, f"var(--{role})")
    text = text.replace(f"'{_FONT}'", "var(--font)")
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    return text.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)


def as_png(figure: Figure) -> bytes:
    """A figure drawn in `PRINTED` colours as a picture on white."""
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=144, facecolor=LIGHT["paper"])
    return out.getvalue()
