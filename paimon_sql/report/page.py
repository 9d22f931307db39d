"""HTML page of a report, self-contained, and its charts as PNG images."""

from __future__ import annotations

from functools import cache
from importlib import resources

import jinja2
from markupsafe import Markup

from paimon_sql.report.charts import CHARTS
from paimon_sql.report.charts.base import Chart
from paimon_sql.report.facts import Facts
from paimon_sql.report.style import DARK, LIGHT, PRINTED, THEMED, as_png, as_svg, drawing
from paimon_sql.system_tables.formatting import size_text

_WIDE, _NARROW, _IMAGE = 6.1, 3.6, 8.0
"""The width of charts in inches: on a page of two columns, on a phone, as an image."""
_NEWEST = 50


def html_of(facts: Facts) -> str:
    """Render the page; it follows the light or dark theme and the width of the window, and loads nothing."""
    with drawing(THEMED):
        return _template().render(
            facts=facts,
            kind=_kind(facts),
            headline=_headline(facts),
            charts=[chart for chart in CHARTS if chart.applies(facts)],
            draw=_svg,
            wide=_WIDE,
            narrow=_NARROW,
            newest=list(facts.commits)[-_NEWEST:][::-1],
            names=[
                ("Tags and their snapshots", facts.tags),
                ("Consumers and their next snapshots", facts.consumers),
                ("Branches", dict.fromkeys(facts.branches, "")),
                ("Options", facts.options),
            ],
            light=LIGHT,
            dark=DARK,
            size=size_text,
        )


def images_of(facts: Facts) -> dict[str, bytes]:
    """Render the charts as PNG, by name."""
    with drawing(PRINTED):
        return {
            c.name: as_png(c.draw(facts, PRINTED, _IMAGE)) for c in CHARTS if c.applies(facts) and c.is_drawn(facts)
        }


@cache
def _template() -> jinja2.Template:
    # Names and options are untrusted: everything is escaped.
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(resources.files(__package__).joinpath("page.html").read_text("utf-8"))


def _svg(chart: Chart, facts: Facts, width: float) -> Markup:
    return Markup(as_svg(chart.draw(facts, THEMED, width), chart.title))


def _kind(facts: Facts) -> str:
    kind = f"table with primary key ({', '.join(facts.keys)})" if facts.keys else "append table"
    return f"{kind}, partitioned by {', '.join(facts.partition_keys)}" if facts.partition_keys else kind


def _headline(facts: Facts) -> list[tuple[str, str]]:
    layout = facts.layout
    found = [
        ("records", f"{layout.records:,}"),
        ("live size", size_text(layout.bytes)),
        ("files", f"{layout.files:,}"),
        ("buckets", f"{layout.buckets:,}"),
        ("snapshots", f"{facts.snapshots:,}"),
        ("total size", size_text(facts.space.total)),
    ]
    if facts.keys and facts.buckets:
        found.insert(4, ("runs per bucket", f"{layout.runs / max(layout.buckets, 1):.1f}"))
    return found
