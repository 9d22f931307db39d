"""What the documentation says is so: its statements run, its answers come, its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paimon_sql.shell.reference.pages import pages
from tests.docs.pages import DOCS, ROOT, Reader, alike, blocks, session
from tests.docs.picture import PICTURE, drawn, texts

COURSE = ROOT / "sql_examples" / "README.md"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
_LINK = re.compile(r"\]\((?!\w+:)([^)#]*)(?:#([^)]*))?\)")


@pytest.mark.parametrize("page", [p for p in PAGES if any(blocks(p.read_text()))], ids=lambda p: p.stem)
def test_a_page_shows_what_the_shell_answers(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # If Spark starts here, its JVM stays in the directory in which the other tests expect it.
    reader = Reader(session(tmp_path / "warehouse"))
    monkeypatch.chdir(tmp_path)
    for block in blocks(page.read_text()):
        answer = reader.type(block)
        where = f"{page.relative_to(ROOT)}:{block.line}\n{block.code}"
        if block.answer is None:
            assert not answer.startswith("Error") and "\nError" not in answer, f"{where}{answer}"
        else:
            assert alike(block.answer, answer), f"{where}It answers\n{answer}"


def test_the_picture_of_the_shell_shows_what_it_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark = session(tmp_path / "warehouse")
    monkeypatch.chdir(tmp_path)
    assert texts(PICTURE.read_text()) == texts(drawn(spark)), "run python -m tests.docs.picture"


@pytest.mark.parametrize("page", [*PAGES, COURSE], ids=lambda p: str(p.relative_to(ROOT)))
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for path, anchor in _LINK.findall(page.read_text()):
        target = page.parent / path if path else page
        assert target.exists(), f"{page.name} links to {path}"
        assert not anchor or anchor in _anchors(target.read_text()), f"{page.name} links to {path}#{anchor}"


@pytest.mark.parametrize("name", pages())
def test_a_reference_says_what_the_code_declares(name: str) -> None:
    stale = f"docs/reference/{name} is stale: run python -m paimon_sql.shell.reference"
    assert (DOCS / "reference" / name).read_text(encoding="utf-8") == pages()[name], stale


def test_the_site_has_every_page() -> None:
    site = (ROOT / "mkdocs.yml").read_text()
    assert [p for p in PAGES[1:] if str(p.relative_to(DOCS)) not in site] == []


def test_the_course_has_each_example_once() -> None:
    files = re.findall(r"\]\((\w+\.sql)\)", COURSE.read_text())
    assert sorted(files) == sorted(p.name for p in COURSE.parent.glob("*.sql"))


def _anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
