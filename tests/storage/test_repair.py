"""Repairs: hints are put right, interrupted expiries finished, what is lost is told and given up only on demand."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_sql.errors import InvalidInputError, NoSuchSnapshotError
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.metadata.numbered_files import EARLIEST, LATEST
from paimon_sql.storage.repair.repair import give_up_before, repair
from paimon_sql.storage.retention.policy import Limits, retention_of
from paimon_sql.storage.table.table import Table
from tests.storage.interrupted_io import Crash, InterruptedFileIO
from tests.storage.small_tables import add_branch, fresh, insert, make_table, on_disk, reachable


def table_of(path: Path, snapshots: int = 5) -> Table:
    table = make_table(path / "t")
    for i in range(snapshots):
        insert(table, (i, "v", "x"))
    return table


def lose(table: Table, *ids: int) -> None:
    for i in ids:
        table.file_io.delete(table.snapshots.directory.path(i))


def test_a_sound_table_needs_no_repair(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    create_tag(table, "one", 1)
    add_branch(table, "b", "one")
    table.consumers.reset("c", 1)
    assert not repair(fresh(table), dry_run=True).problems
    repair(fresh(table))
    found = repair(fresh(table))
    assert (found.repaired, found.problems) == ([], [])
    assert repair(make_table(tmp_path / "u")).problems == []


@pytest.mark.parametrize("content", [b"", b"x", b"3", b"99", None])
@pytest.mark.parametrize("hint", [EARLIEST, LATEST])
def test_hints_are_put_right(tmp_path: Path, hint: str, content: bytes | None) -> None:
    table = table_of(tmp_path)
    path = Path(table.path) / "snapshot" / hint
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    if (hint, content) == (EARLIEST, b"3"):
        return  # which says that an expiry let 1 and 2 go
    (told,) = repair(fresh(table), dry_run=True).repaired
    assert hint in told
    assert (path.read_bytes() if path.exists() else None) == content
    repair(fresh(table))
    assert path.read_text() == {EARLIEST: "1", LATEST: "5"}[hint]
    assert repair(fresh(table)).repaired == []


def test_hints_of_an_empty_folder_go(tmp_path: Path) -> None:
    table = table_of(tmp_path, 1)
    lose(table, 1)
    assert len(repair(fresh(table)).repaired) == 2
    assert list((Path(table.path) / "snapshot").iterdir()) == []


def test_an_interrupted_expiry_is_finished(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    retention = retention_of(table.options, 2**62, Limits(retain_max=2, retain_min=2))
    with pytest.raises(Crash):
        expire_snapshots(Table(table.name, table.path, InterruptedFileIO(3), table.schema), retention)
    (told,) = repair(fresh(table)).repaired
    assert told.endswith("an interrupted expiration was completed; 3 snapshots expired.")
    assert fresh(table).snapshots.directory.versions() == [4, 5]
    assert on_disk(table) == reachable(fresh(table))


def test_a_gap_is_told_and_given_up_on_demand(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    lose(table, 2, 3)
    (told,) = repair(fresh(table)).problems
    assert "2 snapshots are missing, including 2. CALL sys.repair_earliest_snapshot(.., snapshot_id => 4)" in told
    assert give_up_before(fresh(table), 4, dry_run=True) == (1, 1)
    assert fresh(table).snapshots.earliest_id() == 1
    assert give_up_before(fresh(table), 4) == (1, 1)
    assert fresh(table).snapshots.earliest_id() == 4
    found = repair(fresh(table))
    assert (len(found.repaired), found.problems) == (1, [])
    assert fresh(table).snapshots.directory.versions() == [4, 5]
    lists = on_disk(table) - reachable(fresh(table))
    assert all("manifest-list" in path for path in lists)  # which only the lost snapshots told of
    assert give_up_before(fresh(table), 4) == (4, 0)


@pytest.mark.parametrize(
    ("first", "error"),
    [(0, "retained are 1 to 5"), (6, "retained are 1 to 5"), (2, "snapshot 4 does"), (3, "snapshot 4 does")],
)
def test_only_what_follows_a_gap_can_be_the_first(tmp_path: Path, first: int, error: str) -> None:
    table = table_of(tmp_path)
    lose(table, 4)
    with pytest.raises(InvalidInputError, match=error):
        give_up_before(fresh(table), first)
    with pytest.raises(InvalidInputError, match="there is no gap"):
        give_up_before(table_of(tmp_path / "v"), 2)
    with pytest.raises(NoSuchSnapshotError):
        give_up_before(make_table(tmp_path / "u"), first)


def broken(table: Table, what: str) -> str:
    """A file that the first snapshot needs, by its kind: its path."""
    first = table.snapshots.get(1)
    (manifest,) = table.manifests.read_list(first.delta_manifest_list)
    names = {"list": first.delta_manifest_list, "manifest": manifest.file_name}
    return table.schemas.directory.path(0) if what == "schema" else table.manifests.path(names[what])


@pytest.mark.parametrize("content", [b"rubbish", None])
@pytest.mark.parametrize("what", ["schema", "list", "manifest"])
def test_what_the_table_cannot_do_without_is_told_and_nothing_is_touched(
    tmp_path: Path, what: str, content: bytes | None
) -> None:
    table = table_of(tmp_path, 3)
    path = broken(table, what)
    if content is None:
        table.file_io.delete(path)
    else:
        table.file_io.write_bytes(path, content)
    before = on_disk(table)
    found = repair(fresh(table))
    assert Path(path).name in "".join(found.problems) or (what, content) == ("schema", None)
    assert found.problems and not found.repaired
    assert on_disk(table) == before
