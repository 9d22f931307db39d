"""Tags: their files and the rules of making, replacing, renaming and deleting them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from paimon_sql.errors import AlreadyExistsError, CorruptFileError, InvalidInputError, NoSuchSnapshotError
from paimon_sql.storage.file_io.local import LocalFileIO
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags, replace_tag
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.table.table import Table
from tests.storage.small_tables import fresh, insert, make_table, on_disk, reachable, rows_at


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = make_table(tmp_path / "t")
    for i in range(3):
        insert(table, (i, "v", "x"))
    return table


def test_a_tag_keeps_the_newest_snapshot_unless_told_otherwise(table: Table) -> None:
    assert create_tag(table, "newest").snapshot.id == 3
    assert create_tag(table, "first", 1).snapshot.id == 1
    assert table.tags.names() == ["first", "newest"]
    assert [(t.name, t.snapshot.id) for t in table.tags.all()] == [("first", 1), ("newest", 3)]


def test_only_a_tag_with_a_life_of_its_own_tells_its_time(table: Table) -> None:
    create_tag(table, "plain", 1)
    create_tag(table, "kept", 1, timedelta(hours=36))
    assert table.tags.get("plain").create_time is None
    kept = table.tags.get("kept")
    assert kept.time_retained == timedelta(hours=36)
    assert kept.create_time is not None
    assert abs(kept.create_time - datetime.now()) < timedelta(minutes=1)
    assert "tagCreateTime" not in Path(table.tags.path("plain")).read_text()


def test_the_table_says_how_long_tags_live_by_default(table: Table) -> None:
    create_tag(table.with_options({"tag.default-time-retained": "2 d"}), "t", 1)
    assert table.tags.get("t").time_retained == timedelta(days=2)


def test_an_existing_tag_is_not_made_again(table: Table) -> None:
    create_tag(table, "t", 1)
    with pytest.raises(AlreadyExistsError, match="'t'"):
        create_tag(table, "t", 2)
    assert create_tag(table, "t", 2, ignore_if_exists=True).snapshot.id == 1


@pytest.mark.parametrize("name", ["", "  ", "a/b", "a\\b", "a\nb"])
def test_a_name_that_can_be_none_is_refused(table: Table, name: str) -> None:
    with pytest.raises(InvalidInputError, match="name of a tag"):
        create_tag(table, name, 1)


@pytest.mark.parametrize("name", ["two words", "2024-01-01", "7", "käse", "a,b"])
def test_other_names_are_taken(table: Table, name: str) -> None:
    create_tag(table, name, 1)
    assert table.tags.names() == [name]
    assert delete_tags(table, [name]).deleted == [name]


def test_a_tag_needs_a_snapshot(tmp_path: Path, table: Table) -> None:
    with pytest.raises(NoSuchSnapshotError, match="no snapshot yet"):
        create_tag(make_table(tmp_path / "empty"), "t")
    with pytest.raises(NoSuchSnapshotError, match=r"snapshot 44 does not exist: retained are 1, of .* to 3"):
        create_tag(table, "t", 44)
    with pytest.raises(InvalidInputError, match="live longer"):
        create_tag(table, "t", 1, timedelta())


def test_a_replaced_tag_keeps_its_name(table: Table) -> None:
    create_tag(table, "t", 1, timedelta(days=1))
    tag, freed = replace_tag(table, "t", 3)
    assert (tag.snapshot.id, tag.time_retained, freed.count) == (3, None, 0)
    assert table.tags.names() == ["t"]
    with pytest.raises(NoSuchSnapshotError, match="'nobody' does not exist: there are t"):
        replace_tag(table, "nobody", 1)


def test_renaming_needs_a_free_name(table: Table) -> None:
    create_tag(table, "a", 1)
    create_tag(table, "b", 2)
    table.tags.rename("a", "c")
    assert table.tags.get("c").snapshot.id == 1
    with pytest.raises(AlreadyExistsError, match="'b'"):
        table.tags.rename("c", "b")
    with pytest.raises(NoSuchSnapshotError, match="'a'"):
        table.tags.rename("a", "d")


def test_unknown_tags_are_passed_over(table: Table) -> None:
    create_tag(table, "a", 1)
    result = delete_tags(table, ["a", "b", "a"])
    assert (result.deleted, result.unknown) == (["a"], ["b"])


def test_files_of_a_tag_stay_when_the_snapshot_that_was_asked_for_them_expires(table: Table) -> None:
    create_tag(table, "t", 1)
    expire_snapshots(fresh(table), Retention(2, 2, 2**62, 100))
    asked = table.snapshots.get(2).base_manifest_list

    class Expiring(LocalFileIO):
        def read_bytes(self, path: str) -> bytes:
            if path.endswith(asked) and fresh(table).snapshots.earliest_id() == 2:
                expire_snapshots(fresh(table), Retention(1, 1, 2**62, 100))
            return super().read_bytes(path)

    delete_tags(replace(table, file_io=Expiring()), ["t"])
    assert fresh(table).snapshots.earliest_id() == 3
    assert on_disk(table) == reachable(fresh(table))
    assert len(rows_at(fresh(table), table.snapshots.get(3))) == 3


def test_strange_files_are_no_tags(table: Table) -> None:
    create_tag(table, "a", 1)
    folder = Path(table.tags.directory)
    (folder / "tag-").write_text("")
    (folder / ".tag-b.tmp").write_text("")
    (folder / "tag-dir").mkdir()
    assert table.tags.names() == ["a"]


def test_a_broken_tag_is_named(table: Table) -> None:
    create_tag(table, "a", 1)
    Path(table.tags.path("a")).write_text("{}")
    with pytest.raises(CorruptFileError, match="tag-a"):
        table.tags.all()


def test_consumers_are_read_moved_and_forgotten(table: Table) -> None:
    consumers = table.consumers
    assert consumers.min_next_snapshot() is None
    consumers.reset("a", 3)
    consumers.reset("b", 2)
    assert {n: c.next_snapshot for n, c in consumers.all().items()} == {"a": 3, "b": 2}
    assert consumers.min_next_snapshot() == 2
    assert consumers.expire(0) == []
    assert consumers.remove("b")
    assert not consumers.remove("b")
    assert consumers.expire(2**60) == ["a"]
    with pytest.raises(InvalidInputError, match="name of a consumer"):
        consumers.reset("a/b", 1)


def test_branches_are_listed_by_name(table: Table) -> None:
    assert table.branches.all() == []
    for name in ("z", "a"):
        Path(table.branches.root(name)).mkdir(parents=True)
    (Path(table.path) / "branch" / "note").write_text("")
    assert fresh(table).branches.names() == ["a", "z"]
    assert table.branches.exists("main")
    assert not table.branches.exists("b")
    assert all(b.time_millis > 0 for b in table.branches.all())
