"""Style of charts: colours of the two themes, and rendering of figures as themed SVG or as PNG.

Charts for pages are drawn in placeholder colours, one per role; in the SVG they are replaced by CSS variables, so that
one drawing serves both themes. A PNG is drawn in the colours of the light theme.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

_COLOURS = {
    "ink": ("#1d2733", "#e8ecf1"),
    "quiet": ("#5b6775", "#9aa6b4"),
    "line": ("#d9dee5", "#36404d"),
    "paper": ("#ffffff", "#171c23"),
    "one": ("#2a6fbb", "#6aa9ee"),
    "two": ("#d9822b", "#f0a65a"),
    "three": ("#2f9e77", "#5cc9a0"),
    "four": ("#8e5bb5", "#bd92e0"),
    "five": ("#c44e63", "#ec8799"),
    "six": ("#8a8f98", "#8f98a5"),
}
"""The colours of the light and of the dark theme, by role."""
LIGHT = {role: light for role, (light, _) in _COLOURS.items()}
DARK = {role: dark for role, (_, dark) in _COLOURS.items()}
_FONT = "DejaVu Sans"
SERIES = ("one", "two", "three", "four", "five", "six")
"""The roles of series, in order."""


Palette: TypeAlias = Mapping[str, str]
"""The colours of a chart, by role."""
THEMED: Palette = {role: f"#0{place:x}f0{place:x}e" for place, role in enumerate(LIGHT, start=1)}
"""Placeholder colours for pages, which become CSS variables."""
PRINTED: Palette = LIGHT
"""Colours for images."""


def series_colour(palette: Palette, index: int) -> str:
    """The colour of a series by its index; colours repeat."""
    return palette[SERIES[index % len(SERIES)]]


@contextmanager
def drawing(palette: Palette) -> Iterator[None]:
    """Apply the report's style to figures within the ``with``."""
    style = {
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
        "text.parse_math": False,  # names may look like formulas
    }
    with mpl.rc_context(style), warnings.catch_warnings():
        # Names may be in any script; a browser has the fonts that matplotlib lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        yield


def axes(width: float, height: float) -> tuple[Figure, Axes]:
    """A new figure with one pair of axes; the size is in inches, which pages show at 96 pixels each."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def as_svg(figure: Figure, title: str) -> str:
    """Render a figure with `THEMED` colours as an ``svg`` element."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    for role, colour in THEMED.items():
        text = text.replace(colour, f"var(--{role})")
    text = text.replace(f"'{_FONT}'", "var(--font)")
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    return text.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)


def as_png(figure: Figure) -> bytes:
    """Render a figure with `PRINTED` colours as PNG on white."""
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=144, facecolor=LIGHT["paper"])
    return out.getvalue()
