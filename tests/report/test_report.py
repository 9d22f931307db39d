"""The report of a table: what its figures are, what the page and its pictures hold, and where they are written."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from datetime import datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, NoSuchTableError, PaimonError
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.procedures import call
from paimon_sql.procedures.base import Context
from paimon_sql.report import charts, facts, style
from paimon_sql.report.charts.base import duration_text, time_axis
from paimon_sql.report.facts import Orphans, facts_of
from paimon_sql.report.page import html_of, images_of
from paimon_sql.storage.branches.management import create_branch
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.table.table import Table
from tests.storage.small_tables import COLUMNS, compact, insert, make_table, overwrite

ALL_CHARTS = {chart.name for chart in charts.CHARTS}


@pytest.fixture
def keyed(tmp_path: Path) -> Table:
    """A table with a key and partitions: six snapshots, a tag, a compaction among them."""
    table = make_table(
        tmp_path / "t",
        {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "4"},
        primary_keys=("id", "p"),
        partition_keys=("p",),
    )
    for number in range(4):
        insert(table, *((i, str(number), "a") for i in range(50)))
    create_tag(table, "kept")
    compact(table)
    insert(table, (1, "a", "b"))
    return table


def test_the_history_tells_what_each_snapshot_added_and_left(keyed: Table) -> None:
    facts = facts_of(keyed)
    assert [c.id for c in facts.commits] == [s.id for s in keyed.snapshots.all()]
    assert facts.commits[-1].live_bytes == facts.space.live == facts.layout.bytes
    before = 0
    for commit in facts.commits:
        assert commit.live_bytes == before + commit.added_bytes - commit.removed_bytes
        before = commit.live_bytes
    assert {c.kind for c in facts.commits} == {"APPEND", "COMPACT"}


def test_only_the_newest_snapshots_are_shown_and_that_is_said(keyed: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = facts_of(keyed)
    monkeypatch.setattr(facts, "MAX_SNAPSHOTS", 2)
    shown = facts_of(keyed)
    assert list(shown.commits) == list(whole.commits[-2:])
    assert f"newest 2 snapshots are shown, not {len(whole.commits) - 2} older ones" in html_of(shown)


def test_buckets_tell_their_levels_and_the_runs_that_reads_merge(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", primary_keys=("id",))
    insert(table, (1, "a", None))
    insert(table, (1, "b", None))
    (bucket,) = facts_of(table).buckets
    assert (bucket.label, bucket.files, bucket.runs, list(bucket.levels)) == ("bucket-0", 2, 2, [0])
    compact(table)
    (bucket,) = facts_of(table).buckets
    assert (bucket.files, bucket.runs) == (1, 1)
    assert bucket.bytes == facts_of(table).layout.bytes


def test_expiry_is_told_as_it_comes_out(keyed: Table) -> None:
    facts = facts_of(keyed)
    assert facts.expiry is not None
    assert len(facts.expiry.snapshots) == facts.snapshots - 4
    kept = Retention(max=4, min=1, older_than_millis=0, limit=1000)
    done = expire_snapshots(keyed, kept)
    assert done.snapshots == facts.expiry.snapshots
    assert done.files == facts.expiry.files
    assert facts_of(keyed).snapshots == 4


def test_a_table_that_needs_nothing_says_so_without_a_contradiction(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"compaction.min.file-num": "5"})
    for i in range(3):
        insert(table, (i, "a", None))
    page = html_of(facts_of(table))
    assert "Nothing to do" in page and "<ul>" not in page
    assert "3 of 3 files are smaller than 179.2 MiB; this is well, as no bucket has 5 of them" in page
    assert "Nothing to expire: " in page and '<section id="expiry">' in page
    assert '<div class="wide">' not in page.partition('<section id="expiry">')[2]
    assert "expiry" not in images_of(facts_of(table))
    for i in range(2):
        insert(table, (i, "a", None))
    page = html_of(facts_of(table))
    assert "Nothing to do" not in page and "this is well" not in page
    assert "5 of 5 files are smaller than 179.2 MiB." in page


def test_a_keyed_table_says_that_small_files_are_no_matter(keyed: Table) -> None:
    assert "Compaction merges the sorted runs of this table, whatever the sizes of its files." in html_of(
        facts_of(keyed)
    )


def test_advice_comes_with_its_statement_to_copy(keyed: Table) -> None:
    found = re.findall(r'<code class="call"[^>]*>(.*?)</code>', html_of(facts_of(keyed)))
    assert [unescape(call) for call in found] == ["CALL sys.expire_snapshots(table => 't');"]
    create_branch(keyed, "b", tag="kept")
    branch = replace(keyed, branch="b")
    for number in range(5):
        insert(branch, (number, "a", "a"))
    assert "CALL sys.expire_snapshots(table => 't$branch_b')" in [a.statement for _, a in facts_of(branch).advice]


def test_partitions_are_told_by_size_with_their_skew(keyed: Table) -> None:
    found = facts_of(keyed)
    assert [(p.label, p.files) for p in found.partitions] == [("p=a", 1), ("p=b", 1)]
    assert sum(p.bytes for p in found.partitions) == found.layout.bytes
    page = html_of(found)
    assert "The largest of 2 partitions has" in page and "times the median" in page


def test_one_of_a_kind_is_no_plural(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", primary_keys=("id",))
    insert(table, (1, "a", None))
    assert ">1 run<" in html_of(facts_of(table))


def test_commits_are_told_by_their_number_and_duration(keyed: Table) -> None:
    found = facts_of(keyed)
    assert [c.seconds is not None and 0 <= c.seconds < 60 for c in found.commits] == [True] * len(found.commits)
    page = html_of(found)
    assert "A commit every" in page and "the longest took" in page and "per 1 s" in page


def test_a_file_that_is_only_moved_does_not_make_a_commit_long(keyed: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "_MAX_SECONDS", 0.0)
    found = facts_of(keyed)
    assert {c.seconds for c in found.commits} == {None}
    assert 'id="commit_duration"' not in html_of(found)


def test_tags_and_branches_are_marked_at_their_times(keyed: Table) -> None:
    create_branch(keyed, "trial")
    found = facts_of(keyed)
    assert [(mark.name, mark.is_branch) for mark in found.marks] == [("kept", False), ("trial", True)]
    assert found.marks[0].time == found.commits[3].time
    page = html_of(found)
    assert ">kept" in page and "branch trial" in page
    old = replace(found, commits=found.commits[4:])
    assert "1 tag or branch is older." in html_of(old)


@pytest.mark.parametrize(
    ("seconds", "tick", "below"),
    [
        (0, r"\d\d:\d\d:\d\d", "2024-05-03"),
        (40, r"\d\d:\d\d:\d\d", "2024-05-03"),
        (3 * 3600, r"\d\d:\d\d", "2024-05-03"),
        (20 * 3600, r"\d\d:\d\d", "2024-05-03 to 2024-05-04"),
        (30 * 3600, r"\d\d-\d\d \d\d:\d\d", "2024"),
        (40 * 86_400, r"\d\d-\d\d", "2024"),
        (900 * 86_400, r"\d{4}-\d\d", ""),
    ],
)
def test_an_axis_of_times_can_be_read_by_itself(seconds: int, tick: str, below: str) -> None:
    figure, ax = style.axes(6, 3)
    first = datetime(2024, 5, 3, 10, 5)
    time_axis(ax, [first, first + timedelta(seconds=seconds)], 6)
    figure.draw_without_rendering()
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert len(labels) >= 2 and len(set(labels)) == len(labels)
    assert all(re.fullmatch(tick, label) for label in labels)
    assert ax.get_xlabel() == below


def test_durations_are_told_with_a_unit() -> None:
    assert [duration_text(s) for s in (0.04, 1.5, 720, 10_800, 172_800)] == ["40 ms", "1.5 s", "12 min", "3 h", "2 d"]


def test_a_page_holds_every_chart_for_both_widths_and_loads_nothing(keyed: Table) -> None:
    page = html_of(facts_of(keyed, Orphans(2, 4096)))
    assert page.count("<svg ") == 2 * len(ALL_CHARTS)
    for name in ALL_CHARTS:
        assert f'<section id="{name}">' in page
    for outside in ("http-equiv", "<script", "<link", "<img", 'src="', "@import", "url(http"):
        assert outside not in page
    assert "orphans" in page
    for chart in page.split("<svg ")[1:]:
        ElementTree.fromstring("<svg " + chart.split("</svg>")[0] + "</svg>")


def test_a_table_that_nothing_was_written_to_has_a_page_too(tmp_path: Path) -> None:
    facts = facts_of(make_table(tmp_path / "t", primary_keys=("id",)))
    assert "<svg" not in html_of(facts)
    assert images_of(facts) == {}


def test_an_append_table_and_an_emptied_one_have_pages(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "a", None), (2, None, None))
    assert "append table" in html_of(facts_of(table))
    overwrite(table)
    facts = facts_of(table)
    assert len(facts.sizes) == 0
    assert 'id="bytes"' in html_of(facts)


def test_names_and_options_are_texts_and_never_markup(keyed: Table) -> None:
    evil = "<script>alert('x')</script>&\"$x^2$"
    facts = replace(facts_of(keyed), name=evil, options={"comment": evil}, tags={evil: 1}, branches=[evil])
    page = html_of(facts)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 5


def test_partitions_are_texts_in_charts_whatever_they_hold(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", partition_keys=("p",))
    insert(table, (1, "a", "<b>$x_1$ 漢字 & 'q'"), (2, "a", None), (3, "a", "p" * 200))
    facts = facts_of(table)
    page = html_of(facts)
    for chart in page.split("<svg ")[1:]:
        ElementTree.fromstring("<svg " + chart.split("</svg>")[0] + "</svg>")
    assert set(images_of(facts)) <= ALL_CHARTS


def test_pictures_are_png(keyed: Table) -> None:
    pictures = images_of(facts_of(keyed))
    assert set(pictures) == ALL_CHARTS
    for data in pictures.values():
        assert data.startswith(b"\x89PNG")
        width, height = struct.unpack(">II", data[16:24])
        assert width > 900
        assert height > 200


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """A catalog with a table ``d.t`` of one row, called from a folder of its own."""
    catalog = FileSystemCatalog("paimon", {"warehouse": str(tmp_path / "warehouse")})
    catalog.create_database("d", {})
    catalog.create_table(Identifier("d", "t"), new_schema(COLUMNS, primary_keys=["id"], options={"bucket": "1"}))
    insert(catalog.table(Identifier("d", "t")), (1, "a", "x"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return Context(catalog, "d")


def report(context: Context, **arguments: Any) -> dict[str, Any]:
    (row,) = call(context, "report", **{"table": "t", **arguments})
    return row


def test_a_report_is_written_here_or_where_it_is_said(context: Context, tmp_path: Path) -> None:
    assert report(context, images="pics", dry_run=True)["note"] == "dry run, nothing was written"
    assert list((tmp_path / "here").iterdir()) == []
    assert report(context)["path"] == str(tmp_path / "here" / "d.t-report.html")
    assert report(context, path=str(tmp_path))["path"] == str(tmp_path / "d.t-report.html")
    told = report(context, path=str(tmp_path / "new" / "x.html"), images="pics", orphans=True)
    assert told["bytes"] == Path(told["path"]).stat().st_size
    assert told["images"] == str(tmp_path / "here" / "pics")
    assert len(list(Path(told["images"]).iterdir())) == told["charts"]
    assert "Orphan files were not searched for" not in Path(told["path"]).read_text()
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["x.html"]


def test_a_report_that_cannot_be_written_says_where_and_leaves_nothing(context: Context, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(PaimonError, match=r"file/x\.html cannot be written"):
        report(context, path=str(tmp_path / "file" / "x.html"))
    with pytest.raises(InvalidInputError, match="which is not a directory"):
        report(context, path="p.html", images=str(tmp_path / "file"))
    with pytest.raises(InvalidInputError, match="the local file system"):
        report(context, path="s3://bucket/x.html")
    with pytest.raises(InvalidInputError, match="blank"):
        report(context, path=" ")
    with pytest.raises(NoSuchTableError):
        report(context, table="nope")
    assert (tmp_path / "file").read_text() == "mine"
    assert list((tmp_path / "here").iterdir()) == []
