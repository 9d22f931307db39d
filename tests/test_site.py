"""The site: it builds without a warning, loads nothing from elsewhere, and can be read on every screen."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TypedDict, cast

import pytest

from tests.browser import needs_browser, serving
from tests.docs.pages import DOCS, ROOT

SCREENS = ((390, 844), (1280, 800))
SHOWN = (
    "index.html",
    "read/index.html",
    "sql-dialect/index.html",
    "catalogs/index.html",
    "reference/options/index.html",
    "reference/procedures/index.html",
    "reference/system_tables/index.html",
    "reference/statements/index.html",
    "reference/cli/index.html",
    "reference/python/index.html",
)
_ASSET = re.compile(r"<(?:link|script|img|iframe|source|object)\b[^>]*?\b(?:href|src|data)=[\"']?([^\"'\s>]+)")
_ELSEWHERE = re.compile(r"(?:https?:)?//")
# The scripts of a page are done when they have asked for the versions, and show them.
_PROBE = """<!DOCTYPE html><body><script>
const pause = milliseconds => new Promise(done => setTimeout(done, milliseconds));
const see = (page, [width, height]) => new Promise(done => {
  const frame = document.createElement('iframe');
  frame.width = width; frame.height = height; frame.src = page;
  document.body.append(frame);
  frame.onload = async () => {
    const version = () => frame.contentDocument.querySelector('.md-version__current');
    for (let i = 0; i < 600 && !version(); i++) await pause(50);
    const shown = frame.contentDocument, root = shown.documentElement;
    const install = [...shown.querySelectorAll('code')].find(e => e.textContent.includes('pip install paimon-sql'));
    const cut = [...shown.querySelectorAll('article :is(p, li, td, th, h1, h2, h3)')].filter(
      e => e.getBoundingClientRect().right > width && !e.closest('.md-typeset__scrollwrap, pre'));
    done({
      page, width,
      overflow: root.scrollWidth - root.clientWidth,
      cut: cut.map(e => e.textContent.slice(0, 80)),
      bottom: install ? install.getBoundingClientRect().bottom : null,
      pictures: [...shown.querySelectorAll('article img')].every(e => e.naturalWidth > 0),
      version: version()?.textContent.trim() ?? '',
    });
    frame.remove();
  };
});
(async () => {
  const found = [];
  for (const page of PAGES) for (const screen of SCREENS) found.push(await see(page, screen));
  fetch('/', {method: 'POST', body: JSON.stringify(found)});
})();
</script></body>"""


class Seen(TypedDict):
    """What a browser found on a page.

    Attributes:
        page: its path.
        width: the screen's.
        overflow: by how much the page is wider than the screen.
        cut: the beginnings of texts that the screen cuts off.
        bottom: where the install line ends, if there is one.
        pictures: whether all pictures are there.
        version: what the choice of versions shows.
    """

    page: str
    width: int
    overflow: int
    cut: list[str]
    bottom: float | None
    pictures: bool
    version: str


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the built site, one version beside the list of all, as they are published."""
    base = tmp_path_factory.getbasetemp()
    # The processes of pytest-xdist have one parent directory, and build the site once.
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "versions.json").exists():
            built = subprocess.run(
                [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder / "0.2")],
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=300,
            )
            assert built.returncode == 0, built.stdout + built.stderr
            (folder / "versions.json").write_text('[{"version": "0.2", "title": "0.2", "aliases": ["latest"]}]')
    return folder


@pytest.fixture(scope="session")
def page_texts(site: Path) -> dict[str, str]:
    """The text of each built page by its path."""
    return {str(p.relative_to(site / "0.2")): p.read_text(encoding="utf-8") for p in (site / "0.2").rglob("*.html")}


def test_every_page_of_the_guide_is_built_and_has_a_title(page_texts: dict[str, str]) -> None:
    for page in DOCS.rglob("*.md"):
        path = page.relative_to(DOCS).with_suffix("")
        built = page_texts["index.html" if path.name == "index" else f"{path}/index.html"]
        title = re.search(r"<title>(.*?)</title>", built)
        assert title and title[1].strip(), page
        assert path.name == "index" or title[1] != "paimon-sql", page


def test_no_page_loads_anything_from_another_host(site: Path, page_texts: dict[str, str]) -> None:
    foreign = {
        f"{page}: {address}"
        for page, text in page_texts.items()
        for address in _ASSET.findall(text)
        if _ELSEWHERE.match(address)
    }
    foreign |= {
        f"{path.name}: {address}"
        for path in (site / "0.2").rglob("*")
        if path.suffix in (".css", ".svg")
        for address in re.findall(r"(?:url\(|@import |href=)[\"']?([^\"')\s]+)", path.read_text(encoding="utf-8"))
        if _ELSEWHERE.match(address)
    }
    assert not foreign


def test_the_search_knows_every_page(site: Path) -> None:
    index = json.loads((site / "0.2/search/search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert len(found) == len(list(DOCS.rglob("*.md")))


@needs_browser
def test_pages_can_be_read_on_a_telephone_and_on_a_wide_screen(site: Path, tmp_path: Path) -> None:
    found = seen(site, tmp_path)
    assert len(found) == len(SHOWN) * len(SCREENS)
    for page in found:
        assert page["overflow"] == 0, page
        assert page["cut"] == [], page
        assert page["pictures"], page
        assert page["version"] == "0.2", page
    first = [page["bottom"] for page in found if page["page"] == "0.2/index.html"]
    assert all(bottom and bottom < height for bottom, (_, height) in zip(first, SCREENS, strict=True)), first


def seen(site: Path, profile: Path) -> list[Seen]:
    """What a browser finds on the pages `SHOWN`, for each of the screens."""
    pages = json.dumps([f"0.2/{page}" for page in SHOWN])
    probe = _PROBE.replace("PAGES", pages).replace("SCREENS", json.dumps(SCREENS))
    (site / "probe.html").write_text(probe, encoding="utf-8")
    with serving(site) as server:
        return cast("list[Seen]", server.found_by("probe.html", profile))
