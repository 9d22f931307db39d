"""Expiry of snapshots: which go, which files go with them, and what holds on to them."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from paimon_sql.errors import CorruptFileError, InvalidInputError, InvalidOptionError, PaimonError
from paimon_sql.format.metadata.index_manifest import IndexFileMeta, IndexManifestEntry, write_index_manifest
from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.maintenance.snapshots.expiration import ExpirationResult, expire_snapshots
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags
from paimon_sql.storage.metadata.numbered_files import EARLIEST
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.metadata.snapshots import SnapshotView
from paimon_sql.storage.retention.policy import (
    ExpirationRange,
    Limits,
    changelog_retention_of,
    choose_range,
    retention_of,
)
from paimon_sql.storage.table.table import Table
from tests.storage.small_tables import (
    add_branch,
    amend_latest,
    compact,
    fresh,
    insert,
    make_table,
    on_disk,
    overwrite,
    reachable,
    rows_at,
)

HOUR = 3_600_000


def now() -> int:
    return int(time.time() * 1000)


def ids(table: Table) -> list[int]:
    return table.snapshots.directory.versions()


def expire(table: Table, keep: int = 1, limit: int | None = None, dry_run: bool = False) -> ExpirationResult:
    table = fresh(table)
    retention = retention_of(table.options, now(), Limits(retain_max=keep, retain_min=keep, max_deletes=limit))
    return expire_snapshots(table, retention, dry_run=dry_run)


def chosen(table: Table, older_than: int = 0, **arguments: int) -> ExpirationRange:
    table = fresh(table)
    retention = retention_of(table.options, now(), Limits(older_than_millis=older_than, **arguments))
    return choose_range(table, retention, SnapshotView(table.snapshots))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return make_table(tmp_path / "t")


def test_an_empty_table_lets_nothing_expire(table: Table) -> None:
    result = expire(table)
    assert (result.snapshots, result.earliest, result.reason) == ([], None, "the table has no snapshot")


def test_the_bounds_choose_the_range(table: Table) -> None:
    for i in range(8):
        insert(table, (i, "v", "x"))
    future = now() + HOUR
    assert chosen(table).end == 1  # ten stay by default
    assert chosen(table, retain_min=2).end == 1  # all are young
    assert chosen(table, retain_max=7, retain_min=2).end == 2  # the maximum goes whatever the age
    assert chosen(table, future, retain_min=3).end == 6
    assert chosen(table, future, retain_min=3, max_deletes=1).end == 2
    assert chosen(table, future, retain_max=8, retain_min=8).end == 1
    assert chosen(table, retain_max=1, retain_min=1).end == 8


def test_a_snapshot_goes_only_if_the_next_one_is_older(table: Table) -> None:
    times = []
    for i in range(5):
        times.append(insert(table, (i, "v", "x")).time_millis)
        time.sleep(0.003)
    assert chosen(table, times[2], retain_min=1).end == 2
    assert chosen(table, times[2] + 1, retain_min=1).end == 3
    assert "too young" in chosen(table, times[2], retain_min=1).reason


def test_a_consumer_holds_on_to_its_next_snapshot(table: Table) -> None:
    for i in range(6):
        insert(table, (i, "v", "x"))
    table.consumers.reset("slow", 3)
    table.consumers.reset("fast", 5)
    assert expire(table).snapshots == [1, 2]
    result = expire(table)
    assert (result.snapshots, result.earliest) == ([], 3)
    assert "consumer still needs snapshot 3" in result.reason
    table.consumers.remove("slow")
    assert expire(table).snapshots == [3, 4]
    changelog_only = table.with_options({"consumer.changelog-only": "true"})
    assert retention_of(changelog_only.options, now()).consumers  # where changelogs go with their snapshots
    changelog_only = changelog_only.with_options({"changelog.time-retained": "1 d"})
    retention = retention_of(changelog_only.options, now(), Limits(retain_max=1, retain_min=1))
    assert expire_snapshots(changelog_only, retention).snapshots == [5]


def test_a_maximum_under_the_minimum_is_refused(table: Table) -> None:
    with pytest.raises(InvalidInputError, match=r"retain_max => 3, retain_min => 3"):
        retention_of(table.options, now(), Limits(retain_max=3))
    with pytest.raises(InvalidOptionError, match="retain_min"):
        retention_of(table.options, now(), Limits(retain_max=3, retain_min=0))
    with pytest.raises(InvalidOptionError, match="max_deletes"):
        retention_of(table.options, now(), Limits(max_deletes=0))


def test_an_argument_stands_in_for_an_invalid_option(table: Table) -> None:
    invalid = {"snapshot.time-retained": "?", "changelog.time-retained": "?", "snapshot.expire.limit": "?"}
    options = table.with_options(invalid).options
    for retention in (retention_of, changelog_retention_of):
        assert retention(options, now(), Limits(older_than_millis=7, max_deletes=3)).older_than_millis == 7
        with pytest.raises(InvalidOptionError, match=r"time-retained"):
            retention(options, now(), Limits(max_deletes=3))


def test_an_invalid_number_of_changelogs_is_refused_whatever_the_arguments(table: Table) -> None:
    for name in ("max", "min"):
        options = table.with_options({f"changelog.num-retained.{name}": "?"}).options
        with pytest.raises(InvalidOptionError, match=rf"changelog\.num-retained\.{name}"):
            changelog_retention_of(options, now(), Limits(retain_max=9, retain_min=9))


def test_a_data_file_goes_when_its_last_snapshot_goes(table: Table) -> None:
    insert(table, (1, "a", "x"))
    insert(table, (2, "b", "x"))
    overwrite(table, (3, "c", "x"))
    insert(table, (4, "d", "x"))
    data = Path(table.path) / "bucket-0"
    assert expire(table, limit=1).snapshots == [1]
    assert len(list(data.iterdir())) == 4  # snapshot 2 needs those of 1
    result = expire(table, limit=1)
    assert (result.snapshots, result.files.data) == ([2], 2)
    assert len(list(data.iterdir())) == 2
    assert expire(table).snapshots == [3]
    assert on_disk(table) == reachable(table)
    assert (Path(table.path) / "snapshot" / "EARLIEST").read_text() == "4"
    assert rows_at(table, fresh(table).snapshots.get(4)) == [(3, "c", "x"), (4, "d", "x")]


def test_a_file_that_only_changes_its_level_stays(tmp_path: Path) -> None:
    table = make_table(tmp_path / "k", primary_keys=("id",))
    insert(table, (1, "a", "x"))
    moved = compact(table)
    assert moved is not None
    assert len(list((Path(table.path) / "bucket-0").iterdir())) == 1
    assert expire(table).snapshots == [1]
    assert rows_at(table, moved) == [(1, "a", "x")]
    assert on_disk(table) == reachable(table)


def test_a_tag_keeps_the_files_of_its_snapshot(table: Table) -> None:
    insert(table, (1, "a", "x"))
    insert(table, (2, "b", "x"))
    create_tag(table, "two", 2)
    overwrite(table, (3, "c", "x"))
    overwrite(table, (4, "d", "x"))
    assert expire(table).snapshots == [1, 2, 3]
    assert len(list((Path(table.path) / "bucket-0").iterdir())) == 3
    assert rows_at(table, table.tags.get("two").snapshot) == [(1, "a", "x"), (2, "b", "x")]
    freed = delete_tags(fresh(table), ["two"])
    assert (freed.deleted, len(freed.files.data)) == (["two"], 2)
    assert on_disk(table) == reachable(table)


def test_a_deleted_tag_leaves_what_its_neighbours_need(table: Table) -> None:
    for i in range(4):
        insert(table, (i, "v", "x"))
        create_tag(table, f"t{i}")
    overwrite(table, (9, "z", "x"))
    expire(table)
    for name in ("t1", "t3", "t0"):
        delete_tags(fresh(table), [name])
        assert on_disk(table) == reachable(table)
        for tag in table.tags.all():
            assert len(rows_at(table, tag.snapshot)) == tag.snapshot.total_record_count


def test_the_second_tag_of_a_snapshot_keeps_its_files(table: Table) -> None:
    insert(table, (1, "a", "x"))
    create_tag(table, "one", 1)
    create_tag(table, "uno", 1)
    overwrite(table, (2, "b", "x"))
    expire(table)
    assert not delete_tags(fresh(table), ["one"]).files.count
    assert rows_at(table, table.tags.get("uno").snapshot) == [(1, "a", "x")]


def test_a_branch_keeps_what_it_shares_with_main(table: Table) -> None:
    insert(table, (1, "a", "x"), changelog=True)
    create_tag(table, "base")
    branch = add_branch(table, "dev", "base")
    overwrite(table, (2, "b", "x"))
    delete_tags(fresh(table), ["base"])
    assert expire(table).snapshots == [1]
    assert rows_at(branch, branch.snapshots.get(1)) == [(1, "a", "x")]
    assert on_disk(table) == reachable(table)
    overwrite(branch, (3, "c", "x"))
    delete_tags(branch, ["base"])
    assert expire(branch).snapshots == [1]
    assert on_disk(table) == reachable(table)
    assert rows_at(table, fresh(table).snapshots.get(2)) == [(2, "b", "x")]


def test_a_branch_that_deletes_leaves_the_files_to_main(table: Table) -> None:
    insert(table, (1, "a", "x"))
    create_tag(table, "base")
    branch = add_branch(table, "dev", "base")
    overwrite(branch, (3, "c", "x"))
    delete_tags(branch, ["base"])
    assert expire(branch).snapshots == [1]
    assert rows_at(table, fresh(table).snapshots.get(1)) == [(1, "a", "x")]
    assert on_disk(table) == reachable(table)


def test_changelog_files_go_with_their_snapshots(table: Table) -> None:
    insert(table, (1, "a", "x"), changelog=True)
    insert(table, (2, "b", "x"), changelog=True)
    result = expire(table)
    assert result.files.changelog == 1
    assert on_disk(table) == reachable(table)


def test_index_files_and_statistics_go_with_their_last_snapshot(table: Table) -> None:
    root = Path(table.path)
    for number in (1, 2):
        insert(table, (number, "a", "x"))
        file = IndexFileMeta("HASH", f"index-{number}", 3, 1)
        entry = IndexManifestEntry(FileKind.ADD, RowCodec([]).encode([]), 0, file)
        (root / "index").mkdir(exist_ok=True)
        (root / "statistics").mkdir(exist_ok=True)
        (root / "index" / f"index-{number}").write_bytes(b"abc")
        (root / "statistics" / f"stat-{number}").write_text("{}")
        (root / "manifest" / f"index-manifest-{number}").write_bytes(write_index_manifest([entry]))
        amend_latest(table, indexManifest=f"index-manifest-{number}", statistics=f"stat-{number}")
    insert(fresh(table), (3, "a", "x"))
    assert on_disk(table) == reachable(table)
    assert expire(table, keep=2).files.indexes == 1
    assert not expire(table).files.indexes
    assert on_disk(table) == reachable(table)
    assert (root / "index" / "index-2").exists()


def test_a_dry_run_says_the_same_and_touches_nothing(table: Table) -> None:
    for i in range(5):
        overwrite(table, (i, "v", "x"))
    before = {p: p.stat().st_mtime_ns for p in Path(table.path).rglob("*") if p.is_file()}
    planned = expire(table, dry_run=True)
    assert before == {p: p.stat().st_mtime_ns for p in Path(table.path).rglob("*") if p.is_file()}
    done = expire(table)
    assert (planned.snapshots, planned.files, planned.earliest) == (done.snapshots, done.files, done.earliest)


def test_a_gap_in_the_history_is_no_trouble(table: Table) -> None:
    for i in range(7):
        overwrite(table, (i, "v", "x"))
    for gone in (3, 4):
        Path(table.snapshots.directory.path(gone)).unlink()
    assert expire(table, limit=1).snapshots == [1]
    assert expire(table).snapshots == [2, 5, 6]
    assert rows_at(table, fresh(table).snapshots.get(7)) == [(6, "v", "x")]
    left = [p for p in on_disk(table) - reachable(table) if p.endswith(".parquet")]
    assert len(left) <= 1  # what came and went within the gap, nobody can know


def test_a_gap_does_not_loosen_an_older_tag(table: Table) -> None:
    insert(table, (1, "a", "x"))
    create_tag(table, "old", 1)
    for i in range(5):
        overwrite(table, (i, "v", "x"))
    Path(table.snapshots.directory.path(4)).unlink()
    expire(table)
    assert rows_at(table, table.tags.get("old").snapshot) == [(1, "a", "x")]


def test_the_newest_snapshot_is_safe_even_on_another_history(table: Table) -> None:
    insert(table, (1, "a", "x"))
    insert(table, (2, "b", "x"))
    late = fresh(table)
    insert(late, (3, "c", "x"))
    stale = Path(table.snapshots.directory.path(3)).read_text()
    Path(table.snapshots.directory.path(3)).unlink()
    table.snapshots.directory.reset_hint("LATEST", 2)
    overwrite(fresh(table), (9, "z", "x"))
    Path(table.snapshots.directory.path(4)).write_text(stale.replace('"id": 3', '"id": 4'))
    expire(table, keep=2)
    assert [r[0] for r in rows_at(table, fresh(table).snapshots.get(4))] == [1, 2, 3]


def test_an_unreadable_tag_stops_everything(table: Table) -> None:
    for i in range(4):
        overwrite(table, (i, "v", "x"))
    create_tag(table, "broken", 2)
    path = Path(table.tags.path("broken"))
    text = path.read_text()
    before = on_disk(table)
    path.write_text("{")
    with pytest.raises(CorruptFileError, match="tag-broken"):
        expire(table)
    path.write_text(text.replace("manifest-list-", "manifest-lost-"))
    with pytest.raises(PaimonError, match=r"nothing was deleted.*tag 'broken'"):
        expire(table)
    assert on_disk(table) == before
    assert ids(table) == [1, 2, 3, 4]
    path.unlink()
    assert expire(table).snapshots == [1, 2, 3]


def test_an_unreadable_consumer_stops_everything(table: Table) -> None:
    for i in range(3):
        overwrite(table, (i, "v", "x"))
    table.consumers.reset("c", 1)
    Path(table.consumers.path("c")).write_text("?")
    with pytest.raises(CorruptFileError, match="consumer-c"):
        expire(table)
    assert ids(table) == [1, 2, 3]


def test_empty_folders_go_where_the_table_wishes_so(tmp_path: Path) -> None:
    table = make_table(tmp_path / "p", {"snapshot.clean-empty-directories": "true"}, partition_keys=("p", "v"))
    insert(table, (1, "a", "x"))
    insert(table, (2, "b", "x"))
    overwrite(table, (3, "b", "x"))
    expire(table)
    assert sorted(str(p.relative_to(table.path)) for p in Path(table.path).rglob("bucket-0")) == ["p=x/v=b/bucket-0"]
    assert [p.name for p in (Path(table.path) / "p=x").iterdir()] == ["v=b"]


def test_many_snapshots_go_in_rounds(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paimon_sql.storage.maintenance.snapshots.expiration.ROUND", 3)
    for i in range(9):
        overwrite(table, (i, "v", "x"))
    result = expire(table)
    assert result.snapshots == list(range(1, 9))
    assert result.files.data == 8
    assert on_disk(table) == reachable(table)


def test_more_leftovers_than_a_round_takes_go(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paimon_sql.storage.maintenance.snapshots.expiration.ROUND", 3)
    for i in range(9):
        overwrite(table, (i, "v", "x"))
    table.snapshots.directory.advance_hint(EARLIEST, 8)  # as a purge does, or an expiry, before it is killed
    assert expire(table, keep=100).snapshots == list(range(1, 8))
    assert ids(table) == [8, 9]
    assert on_disk(table) == reachable(table)


@pytest.mark.parametrize(
    "case",
    ["changelog_lookup", "compacted_many_levels", "dv_pk_32", "dynamic_bucket", "index_bitmap_file", "row_tracking",
     "manifest_compacted", "postpone_bucket", "rollback_and_truncate", "statistics", "tags_branches"],
)  # fmt: skip
def test_tables_of_the_connector_expire_without_loss_or_leftover(golden: Path, tmp_path: Path, case: str) -> None:
    name = json.loads((golden / case / "expected.json").read_text())["table"].split(".")
    path = tmp_path / "t"
    shutil.copytree(golden / case / "warehouse" / f"{name[0]}.db" / name[1], path)
    schema = SchemaManager(LocalFileIO(), str(path)).latest()
    assert schema is not None
    table = Table("t", str(path), LocalFileIO(), schema)
    orphans = on_disk(table) - reachable(table)
    result = expire(table)
    assert result.snapshots
    assert on_disk(table) - reachable(table) == orphans
    assert reachable(table) <= on_disk(table)
    delete_tags(fresh(table), table.tags.names())
    assert on_disk(table) - reachable(table) == orphans
    assert reachable(table) <= on_disk(table)
