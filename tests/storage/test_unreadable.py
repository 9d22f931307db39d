"""Metadata that a loss of power has torn: errors name the file and the way out, and repair sets it aside."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_sql.errors import CorruptFileError
from paimon_sql.format.schema.types import IntType
from paimon_sql.storage.branches.management import create_branch
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.maintenance.orphans.removal import find_orphans, remove_orphans
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.repair import repair as repairs
from paimon_sql.storage.repair.repair import Findings, repair
from paimon_sql.storage.retention.policy import Limits, retention_of
from paimon_sql.storage.schema.changes.alter_columns import AddColumn
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import snapshot_at_time
from tests.storage.small_tables import fresh, insert, make_table, rows_at

TORN = ["empty", "cut", "zeros", "rubbish"]


def table_of(path: Path, snapshots: int = 3) -> Table:
    """A table of some snapshots, a row in each."""
    table = make_table(path / "t")
    for i in range(1, snapshots + 1):
        insert(table, (i, "v", "x"))
    return table


def tear(path: str, how: str) -> bytes:
    """Harm a file: what it held."""
    file = Path(path)
    data = file.read_bytes()
    torn = {"empty": b"", "cut": data[:-3], "zeros": bytes(len(data)), "rubbish": b"\xff{]"}
    file.write_bytes(torn[how])
    return data


def shown(table: Table) -> list[int]:
    """The keys of the newest rows."""
    latest = fresh(table).snapshots.latest()
    return [] if latest is None else [row[0] for row in rows_at(fresh(table), latest)]


def set_aside(table: Table) -> list[str]:
    """The names of files that were set aside, without their UUIDs."""
    folder = Path(table.path) / "_unreadable"
    return sorted(p.name[:-37] for p in folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("how", TORN)
@pytest.mark.parametrize("what", ["snapshot", "schema", "tag", "changelog", "consumer"])
def test_an_error_names_the_torn_file_and_the_way_out(tmp_path: Path, what: str, how: str) -> None:
    table = table_of(tmp_path)
    create_tag(table, "one", 1)
    changelogs = table.changelogs
    changelogs.keep(table.snapshots.get(1))
    table.consumers.reset("c", 1)
    table = fresh(table)
    reads: dict[str, tuple[str, Callable[[], object]]] = {
        "snapshot": (table.snapshots.directory.path(3), table.snapshots.latest),
        "schema": (table.schemas.directory.path(0), table.schemas.latest),
        "tag": (table.tags.path("one"), table.tags.all),
        "changelog": (changelogs.directory.path(1), changelogs.all),
        "consumer": (table.consumers.path("c"), table.consumers.min_next_snapshot),
    }
    path, reading = reads[what]
    tear(path, how)
    with pytest.raises(CorruptFileError) as caught:
        reading()
    text = str(caught.value)
    assert text.startswith(f"{path}: not a ") and "CALL sys.repair" in text and "\n" not in text
    assert {"empty": "it is empty", "zeros": "it contains only zeros"}.get(how, "") in text


@pytest.mark.parametrize("how", TORN)
def test_older_snapshots_can_be_read_while_the_newest_is_torn(tmp_path: Path, how: str) -> None:
    table = table_of(tmp_path, 5)
    create_tag(table, "two", 2)
    tear(table.snapshots.directory.path(5), how)
    table = fresh(table)
    for snapshot in (table.snapshots.get(2), table.tags.get("two").snapshot):
        assert [row[0] for row in rows_at(table, snapshot)] == [1, 2]
    third = table.snapshots.get(3).time_millis
    assert snapshot_at_time(table, third - 1 if third == table.snapshots.get(4).time_millis else third).id <= 3
    with pytest.raises(CorruptFileError, match=r"snapshot-5: not a snapshot file.*CALL sys\.repair"):
        insert(table, (9, "v", "x"))


@pytest.mark.parametrize("how", TORN)
@pytest.mark.parametrize("many", [1, 2])
def test_a_torn_newest_snapshot_is_set_aside_and_the_table_goes_on(tmp_path: Path, how: str, many: int) -> None:
    table = table_of(tmp_path, 4)
    user = table.snapshots.get(4).commit_user
    data = [tear(table.snapshots.directory.path(i), how) for i in range(5 - many, 5)]
    planned = repair(fresh(table), dry_run=True)
    assert planned.problems == [] and set_aside(table) == []
    found = repair(fresh(table))
    assert found.problems == []
    assert [s.split("_unreadable")[0] for s in planned.repaired] == [s.split("_unreadable")[0] for s in found.repaired]
    said = "\n".join(found.repaired)
    assert f"t: snapshot {4 - many} is the newest one now." in said
    assert f"snapshot/LATEST contained 4; it was set to {4 - many}" in said
    if how == "cut":
        assert f"The commit of user {user}, of 20" in said and "with 1 rows, is lost." in said
    else:
        assert "The commit of an unknown user, written at 20" in said and "unknown number of rows" in said
    assert set_aside(table) == [f"snapshot-{i}" for i in range(5 - many, 5)]
    assert shown(table) == list(range(1, 5 - many))
    insert(fresh(table), (9, "v", "x"))
    assert shown(table) == [*range(1, 5 - many), 9]
    assert repair(fresh(table)).repaired == [] and len(data) == many


def test_a_snapshot_that_was_set_aside_can_be_brought_back(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    data = tear(table.snapshots.directory.path(3), "cut")
    repair(fresh(table))
    remove_orphans(find_orphans(fresh(table), Search(2**62, LocalExecutor(1))), dry_run=True)
    table.file_io.write_bytes(table.snapshots.directory.path(3), data)
    assert repair(fresh(table)).problems == []
    assert shown(table) == [1, 2, 3]


def test_orphan_removal_leaves_alone_what_was_set_aside(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    tear(table.snapshots.directory.path(3), "cut")
    repair(fresh(table))
    removed = remove_orphans(find_orphans(fresh(table), Search(2**62, LocalExecutor(1))))
    assert removed.count == 4  # the data file, the manifest and both lists of the lost commit
    assert set_aside(table) == ["snapshot-3"]
    assert shown(table) == [1, 2]


@pytest.mark.parametrize("what", ["list", "manifest"])
@pytest.mark.parametrize("content", [b"", b"Obj\x01", None])
def test_a_newest_snapshot_whose_manifests_are_lost_is_set_aside(
    tmp_path: Path, what: str, content: bytes | None
) -> None:
    table = table_of(tmp_path)
    latest = table.snapshots.get(3)
    (manifest,) = table.manifests.read_list(latest.delta_manifest_list)
    path = table.manifests.path(latest.delta_manifest_list if what == "list" else manifest.file_name)
    if content is None:
        table.file_io.delete(path)
    else:
        table.file_io.write_bytes(path, content)
    found = repair(fresh(table))
    assert found.problems == []
    assert f"The commit of user {latest.commit_user}, of 20" in found.repaired[0]
    assert found.repaired[0].endswith(", with 1 rows, is lost.") and Path(path).name in found.repaired[0]
    assert shown(table) == [1, 2]


def test_a_table_whose_only_commit_is_torn_is_empty(tmp_path: Path) -> None:
    table = table_of(tmp_path, 1)
    tear(table.snapshots.directory.path(1), "empty")
    found = repair(fresh(table))
    assert "t: no snapshot can be read; the table is empty now." in found.repaired
    assert shown(table) == []
    insert(fresh(table), (9, "v", "x"))
    assert shown(table) == [9]


def test_a_history_of_which_nothing_can_be_read_is_left_as_it_is(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    expire_snapshots(fresh(table), retention_of(table.options, 2**62, Limits(retain_max=1, retain_min=1)))
    tear(table.snapshots.directory.path(3), "cut")
    (told, *_) = repair(fresh(table)).problems
    assert "none of its snapshots can be read, so nothing was moved aside" in told
    assert set_aside(table) == []


def test_a_torn_snapshot_in_the_middle_becomes_a_gap(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    tear(table.snapshots.directory.path(2), "zeros")
    for dry_run in (True, False):
        found = repair(fresh(table), dry_run=dry_run)
        (told,) = found.problems
        assert "CALL sys.repair_earliest_snapshot(.., snapshot_id => 3)" in told
    assert set_aside(table) == ["snapshot-2"]
    assert shown(table) == [1, 2, 3]


@pytest.mark.parametrize("how", TORN)
@pytest.mark.parametrize("kind", ["tag", "changelog", "consumer"])
def test_torn_tags_changelogs_and_consumers_are_set_aside(tmp_path: Path, kind: str, how: str) -> None:
    table = table_of(tmp_path)
    create_tag(table, "one", 1)
    changelogs = table.changelogs
    changelogs.keep(table.snapshots.get(1))
    table.consumers.reset("one", 1)
    paths = {"tag": table.tags.path("one"), "consumer": table.consumers.path("one")}
    tear(paths.get(kind, changelogs.directory.path(1)), how)
    found = repair(fresh(table))
    assert found.problems == [] and f"{kind} " in found.repaired[0]
    assert set_aside(table) == [f"{kind}-1" if kind == "changelog" else f"{kind}-one"]
    expire_snapshots(fresh(table), retention_of(table.options, 2**62, Limits(retain_max=1, retain_min=1)))
    assert shown(table) == [1, 2, 3]


def add_column(table: Table) -> None:
    table.schemas.evolve(lambda s: apply_changes(s, [AddColumn(("n",), IntType())], has_data=True))


def test_a_torn_newest_schema_is_set_aside_unless_a_snapshot_needs_it(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    add_column(table)
    tear(table.schemas.directory.path(1), "cut")
    found = repair(fresh(table))
    assert found.problems == [] and "schema 0 is the newest one now" in "".join(found.repaired)
    assert set_aside(table) == ["schema-1"]
    assert shown(table) == [1, 2, 3]

    add_column(table)
    schema = fresh(table).schemas.latest()
    assert schema is not None
    insert(replace(table, schema=schema), (4, "v", "x", 1))
    tear(table.schemas.directory.path(1), "cut")
    assert any("schema-1" in problem for problem in repair(fresh(table)).problems)
    assert set_aside(table) == ["schema-1"]


def test_a_torn_schema_goes_with_the_torn_snapshot_that_brought_it_into_use(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    add_column(table)
    insert(replace(table, schema=fresh(table).schemas.latest()), (4, "v", "x", 1))  # type: ignore[arg-type]
    tear(table.schemas.directory.path(1), "cut")
    tear(table.snapshots.directory.path(4), "empty")
    assert repair(fresh(table)).problems == []
    assert set_aside(table) == ["schema-1", "snapshot-4"]
    assert shown(table) == [1, 2, 3]


def test_files_of_a_branch_are_set_aside_under_its_name(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    create_tag(table, "one", 1)
    create_branch(table, "b", tag="one")
    branch = branch_of(fresh(table), "b")
    insert(branch, (9, "v", "x"))
    tear(branch.snapshots.directory.path(2), "empty")
    found = repair(fresh(table))
    assert found.problems == [] and "t, branch 'b': snapshot 2 cannot be read" in found.repaired[0]
    assert set_aside(table) == ["branch-b-snapshot-2"]
    assert shown(branch_of(fresh(table), "b")) == [1]
    assert shown(table) == [1, 2, 3]


class GrowingFileIO(LocalFileIO):
    """A file system on which files can be seen while they are written."""

    def can_create_exclusively(self, path: str) -> bool:
        return False


def test_a_young_file_counts_as_growing_where_files_do_not_come_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = table_of(tmp_path)
    growing = replace(table, file_io=GrowingFileIO())
    tear(table.snapshots.directory.path(3), "cut")
    assert repair(fresh(growing)).problems and set_aside(table) == []
    monkeypatch.setattr(repairs, "_GROWING_MILLIS", -1)
    assert not repair(fresh(growing)).problems and set_aside(table) == ["snapshot-3"]


def test_a_file_that_changes_between_two_looks_is_left_to_its_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = table_of(tmp_path)
    path = table.snapshots.directory.path(3)
    data = tear(path, "cut")
    monkeypatch.setattr(time, "sleep", lambda seconds: Path(path).write_bytes(data))
    found = Findings()
    repairs.quarantine_unreadable(fresh(table), found, dry_run=False)
    assert found == Findings()
    assert shown(table) == [1, 2, 3]
