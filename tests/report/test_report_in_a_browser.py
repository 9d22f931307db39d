"""The report as a browser shows it: both themes, on a telephone and on a wide screen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from paimon_sql.report.charts import CHARTS
from paimon_sql.report.facts import Orphans, facts_of
from paimon_sql.report.page import html_of
from paimon_sql.storage.branches.management import create_branch
from paimon_sql.storage.maintenance.tags.management import create_tag
from tests.browser import PageServer, needs_browser, serving
from tests.storage.small_tables import compact, insert, make_table

pytestmark = needs_browser
WIDTHS = (340, 1280)
DARK, LIGHT = 0, 1
PROBE = """<body><script>
const found = [];
const frames = WIDTHS.map(width => {
  const frame = document.createElement('iframe');
  frame.width = width; frame.height = 900; frame.src = 'report.html';
  document.body.append(frame);
  return new Promise(done => frame.onload = () => done(frame));
});
Promise.all(frames).then(all => {
  for (const frame of all) {
    const page = frame.contentDocument, root = page.documentElement;
    const shown = [...page.querySelectorAll('svg')].filter(e => e.getBoundingClientRect().width > 0);
    const boxes = shown.map(e => e.getBoundingClientRect());
    const texts = shown.flatMap(e => [...e.querySelectorAll('text')]);
    const outside = shown.flatMap(e => [...e.querySelectorAll('text')].filter(t => {
      const box = t.getBoundingClientRect(), within = e.getBoundingClientRect();
      return box.right > within.right + 12 || box.left < within.left - 12;
    }).map(t => t.textContent));
    const style = frame.contentWindow.getComputedStyle(page.body);
    found.push({
      overflow: root.scrollWidth - root.clientWidth,
      charts: shown.length,
      smallest: Math.min(...texts.map(t => t.getBoundingClientRect().height)),
      widest: Math.max(...boxes.map(b => b.right)),
      outside,
      paper: style.backgroundColor,
      ink: style.color,
      fill: frame.contentWindow.getComputedStyle(shown[0].querySelector('text')).fill,
    });
  }
  fetch('/', {method: 'POST', body: JSON.stringify(found)});
});
</script></body>"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """Serves the report of a table, and the page that looks at it."""
    folder = tmp_path_factory.mktemp("pages")
    kept = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "4"}
    table = make_table(folder / "t", kept, primary_keys=("id",), partition_keys=("p",))
    for number in range(5):
        insert(table, *((i, str(number), f"a rather long partition's value {i % 12}") for i in range(60)))
    create_tag(table, "kept with a name that is rather long")
    create_branch(table, "trial")
    compact(table)
    insert(table, (1, "x", "漢字 & <b>"))
    (folder / "report.html").write_text(html_of(facts_of(table, Orphans(2, 4096))))
    (folder / "probe.html").write_text(PROBE.replace("WIDTHS", str(list(WIDTHS))))

    with serving(folder) as served:
        yield served


def seen(server: PageServer, theme: int, profile: Path) -> list[dict[str, Any]]:
    """What a browser of that theme finds on the page, for each of the widths."""
    colours = f"--blink-settings=preferredColorScheme={theme}"
    return cast("list[dict[str, Any]]", server.found_by("probe.html", profile, colours))


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_a_report_can_be_read_on_every_screen(server: PageServer, theme: int, tmp_path: Path) -> None:
    for width, page in zip(WIDTHS, seen(server, theme, tmp_path), strict=True):
        assert page["overflow"] == 0
        assert page["charts"] == len(CHARTS)
        assert page["widest"] <= width
        assert page["outside"] == []
        assert page["smallest"] >= 9
        paper, ink = (sum(map(int, re.findall(r"\d+", page[what])[:3])) for what in ("paper", "ink"))
        assert (paper < ink) == (theme == DARK)
        assert page["fill"] != page["paper"]
