"""Metadata that is missing or broken: maintenance names the file and deletes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from paimon_sql.errors import PaimonError
from paimon_sql.format.metadata.index_manifest import write_index_manifest
from paimon_sql.process import PROCESS
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.maintenance.orphans.removal import find_orphans, remove_orphans
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags, replace_tag
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.table.table import Table
from tests.storage.small_tables import add_branch, amend_latest, fresh, insert, make_table, on_disk, overwrite


def history(path: Path) -> Table:
    """A table with a tag on an expired snapshot, a younger tag, a branch, an index manifest and a consumer."""
    table = make_table(path / "t")
    insert(table, (1, "v", "x"))
    create_tag(table, "old")
    overwrite(table, (2, "v", "x"))
    create_tag(table, "young")
    add_branch(table, "b", "young")
    overwrite(table, (3, "v", "x"))
    expire(table)
    insert(table, (4, "v", "x"))
    overwrite(table, (5, "v", "x"))
    insert(table, (6, "v", "x"))
    table.file_io.write_bytes(table.paths.manifest("index-manifest-1"), write_index_manifest([]))
    amend_latest(table, indexManifest="index-manifest-1")
    table.consumers.reset("c", 6)
    return table


def expire(table: Table) -> None:
    expire_snapshots(fresh(table), Retention(1, 1, 2**62, 100))


def untag(table: Table) -> None:
    delete_tags(fresh(table), ["old"])


def retag(table: Table) -> None:
    replace_tag(fresh(table), "old")


def clean(table: Table) -> None:
    for path in Path(table.path).rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    remove_orphans(find_orphans(fresh(table), Search(1_500_000_000_000, LocalExecutor(1))))


def lists_of(tag: str, member: str) -> Callable[[Table], str]:
    return lambda table: table.manifests.path(getattr(table.tags.get(tag).snapshot, member))


def manifest_of_latest(table: Table) -> str:
    latest = table.snapshots.latest()
    assert latest is not None
    return table.manifests.path(table.manifests.read_list(latest.base_manifest_list)[0].file_name)


def list_of_latest(table: Table) -> str:
    latest = table.snapshots.latest()
    assert latest is not None
    return table.manifests.path(latest.base_manifest_list)


VICTIMS: dict[str, Callable[[Table], str]] = {
    "newest snapshot": lambda t: t.snapshots.directory.path(6),
    "its list": list_of_latest,
    "its manifest": manifest_of_latest,
    "its index manifest": lambda t: t.paths.manifest("index-manifest-1"),
    "tag": lambda t: t.tags.path("young"),
    "a tag's list": lists_of("young", "delta_manifest_list"),
    "snapshot of a branch": lambda t: f"{t.path}/branch/branch-b/snapshot/snapshot-2",
    "consumer": lambda t: t.consumers.path("c"),
}


UNKNOWN = {"tag", "snapshot of a branch", "consumer"}
"""What nobody knows of when it is not there."""
_ALWAYS_NEWER = ("newest snapshot", "its list", "its manifest", "its index manifest", "consumer")
UNASKED = {(victim, action) for victim in _ALWAYS_NEWER for action in (untag, retag)} | {("consumer", clean)}
"""What need not be asked: the first retained snapshot knows what later ones may need of an older one."""


@pytest.mark.parametrize("action", [expire, untag, retag, clean])
@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("harm", ["corrupt", "missing"])
def test_what_may_be_needed_is_read_or_nothing_goes(
    tmp_path: Path, action: Callable[[Table], None], victim: str, harm: str
) -> None:
    table = history(tmp_path)
    path = Path(VICTIMS[victim](table))
    data = {p for p in on_disk(table) if "bucket-" in p}
    if harm == "missing":
        path.unlink()
    else:
        path.write_bytes(b"rubbish")
    PROCESS.clear_caches()
    before = on_disk(table)
    try:
        action(table)
    except PaimonError as error:
        assert path.name in str(error) or f"snapshot {path.name.rpartition('-')[2]}" in str(error).lower()
        assert on_disk(table) == before
    else:
        # Nobody asked for the file, or nobody can know of it any more: the only file that goes is the deleted tag's.
        assert (victim, action) in UNASKED or (harm == "missing" and victim in UNKNOWN)
        # The tag was of that manifest too: what it alone had kept cannot be told any more, and is left.
        freed = 0 if victim == "its manifest" else 1
        gone: dict[Callable[[Table], None], int] = {expire: 2, clean: 0}
        assert len(data - on_disk(table)) == gone.get(action, freed)
