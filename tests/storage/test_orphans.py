"""Orphan files: found whatever made them, and never what somebody may need."""

from __future__ import annotations

import os
import pickle
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from paimon_sql.errors import CommitConflictError, PaimonError
from paimon_sql.format.metadata.index_manifest import write_index_manifest
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.file_io import FileStatus, LocalFileIO
from paimon_sql.storage.maintenance.orphans.candidates import CandidateFilter, FolderKind, Search
from paimon_sql.storage.maintenance.orphans.removal import OrphanPlan, Removed, find_orphans, remove_orphans
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.retention.policy import Limits, retention_of
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage.small_tables import (
    add_branch,
    amend_latest,
    batch_of,
    compact,
    fresh,
    insert,
    make_table,
    on_disk,
    overwrite,
    reachable,
    rows_at,
)

T = TypeVar("T")
R = TypeVar("R")
OLD = 1_000_000_000
CHANGELOGS = {
    "changelog-producer": "input",
    "changelog.num-retained.max": "100",
    "snapshot.num-retained.max": "50",
}


def age(table: Table, paths: Sequence[str] = ()) -> None:
    """Make all files of a table, or some, older than a day."""
    for path in paths or [str(p) for p in Path(table.path).rglob("*")]:
        os.utime(path, (OLD, OLD))


def find(table: Table, *, parallelism: int | None = None) -> OrphanPlan:
    yesterday = int(time.time() * 1000) - 86_400_000
    return find_orphans(fresh(table), Search(yesterday, LocalExecutor(), parallelism))


def remove(table: Table, *, dry_run: bool = False, parallelism: int | None = None) -> Removed:
    return remove_orphans(find(table, parallelism=parallelism), dry_run=dry_run)


def expire(table: Table, keep: int) -> None:
    table = fresh(table)
    now = int(time.time() * 1000) + 1000
    expire_snapshots(table, retention_of(table.options, now, Limits(retain_max=keep, retain_min=keep)))


def uncommitted(table: Table, *rows: tuple[int, str, str]) -> list[str]:
    """Write files that nobody commits: their paths."""
    batch = batch_of(table, rows)
    return [
        path
        for m in plan_write(table).run([batch])
        for f in m.new_files
        for path in table.locations.files_of(m.partition, m.bucket, f)
    ]


def plant(table: Table, *names: str) -> list[str]:
    """Put files into a table's folder that no metadata tells of."""
    paths = [Path(table.path) / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345")
    age(table, [str(p) for p in paths])
    return [str(p) for p in paths]


def litter() -> list[str]:
    """Names that writers give to files, by the folders they stand in."""
    one = str(uuid.uuid4())
    return [
        f"bucket-0/data-{one}-0.parquet",
        f"bucket-0/data-{one}-0.parquet.index",
        f"bucket-0/data-{one}-0.parquet-1.index",
        f"bucket-0/data--u-{one}-s-17-w-{one}-3.avro",
        f"bucket-0/changelog-{one}-12.zst.orc",
        f"bucket-0/data-{one}-4.blob",
        f"bucket-0/index-{one}-4",
        f"bucket-0/.data.{one}.tmp",
        f"bucket-postpone/data-{one}-7.avro",
        f"manifest/manifest-{one}-0",
        f"manifest/manifest-list-{one}-1",
        f"manifest/index-manifest-{one}-0",
        f"manifest/.manifest-{one}-2.{one}.tmp",
        f"index/index-{one}-0",
        f"index/btree-global-index-{one}.index",
        f"statistics/stat-{one}-0",
        f"snapshot/.snapshot-9.{one}.tmp",
        f"snapshot/{one}-LATEST.temp",
        f"schema/.schema-3.{one}.tmp",
        f"tag/.tag-x.{one}.tmp",
        f"branch/branch-b/snapshot/.LATEST.{one}.tmp",
        f".REWIND.{one}.tmp",
        f"branch/branch-b/.REWIND.{one}.tmp",
    ]


def strangers() -> list[str]:
    """Names that no writer of a table gives."""
    one = str(uuid.uuid4())
    return [
        "bucket-0/notes.txt",
        "bucket-0/_SUCCESS",
        f"bucket-0/part-00000-{one}-c000.snappy.parquet",
        f"bucket-0/00000-0-{one}-00001.parquet",
        f"bucket-0/backup-{one}-0.parquet",
        f"bucket-0/data-{one}.parquet",
        f"bucket-0/data-{one}-0.managed.blob",
        f"bucket-0/copies/data-{one}-0.parquet",
        f"copies/data-{one}-0.parquet",
        "manifest/manifest",
        f"manifest/copy-of-manifest-{one}-0",
        "snapshot/snapshot-7.bak",
        "snapshot/README",
        f"index/data-{one}-0.parquet",
        f"data-{one}-0.parquet",
        f"metadata/data-{one}-0.parquet",
        "tag/notes",
    ]


def test_everything_that_writers_leave_behind_is_found(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "v", "x"))
    create_tag(table, "one", 1)
    add_branch(table, "b", "one")
    planted = plant(table, *litter())
    looked = remove(table, dry_run=True)
    assert (looked.count, looked.bytes) == (len(planted), 5 * len(planted))
    assert all(Path(p).exists() for p in planted)
    done = remove(table)
    assert (done.data, done.metadata, done.temporary, done.bytes) == (
        looked.data,
        looked.metadata,
        looked.temporary,
        looked.bytes,
    )
    assert (done.data, done.metadata, done.temporary) == (8, 6, 9)
    assert not [p for p in planted if Path(p).exists()]
    assert remove(table).count == 0
    assert on_disk(table) == reachable(table)


def test_files_that_no_writer_makes_are_never_orphans(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "v", "x"))
    planted = plant(table, *strangers())
    plan = find(table)
    assert remove_orphans(plan).count == 0
    assert all(Path(p).exists() for p in planted)
    assert plan.listed.strange == 10


def test_young_files_stay(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    paths = uncommitted(table, (1, "v", "x"))
    assert remove(table).count == 0
    age(table, paths)
    assert remove(table).count == 1


def test_prefixes_of_any_schema_and_branch_are_known(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"data-file.prefix": "first-"})
    insert(table, (1, "v", "x"))
    create_tag(table, "one", 1)
    branch = add_branch(table, "b", "one")
    for owner, prefix in ((table, "second-"), (branch, "third.")):
        change = {"data-file.prefix": prefix}
        owner.schemas.evolve(lambda s: replace(s, id=s.id + 1, options={**s.options, **change}))  # noqa: B023
    one = str(uuid.uuid4())
    plant(
        table, *(f"bucket-0/{p}{one}-0.parquet" for p in ("first-", "second-", "third.", "data-", "thirdx", "fourth-"))
    )
    assert remove(table).count == 4


def test_partitions_of_every_depth_are_searched_and_empty_ones_removed(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", partition_keys=("p", "v"))
    insert(table, (1, "v", "x"))
    one = str(uuid.uuid4())
    plant(
        table,
        f"p=x/v=v/bucket-0/data-{one}-0.parquet",
        f"p=y/v=w/bucket-0/data-{one}-1.parquet",
        f"p=y/v=w/bucket-1/data-{one}-2.parquet",
        f"p=z/bucket-0/data-{one}-3.parquet",
    )
    (Path(table.path) / "p=q/v=r/bucket-0").mkdir(parents=True)
    (Path(table.path) / "p=n/v=r/bucket-0").mkdir(parents=True)
    age(table, [f"{table.path}/p=q/v=r/bucket-0"])
    done = remove(table)
    assert (done.count, done.directories) == (3, 3)
    assert sorted(p.name for p in Path(table.path).glob("p=*")) == ["p=n", "p=x", "p=z"]


def history(path: Path, options: dict[str, str] | None = None) -> Table:
    """A table whose files are held by snapshots, tags, changelogs and a branch, and which a rollback left files in."""
    table = make_table(path / "t", options, primary_keys=("id",))
    for i in range(4):
        insert(table, (i % 2, f"v{i}", "x"))
        create_tag(table, f"t{i}")
        compact(table)
    branch = add_branch(table, "b", "t2")
    insert(branch, (7, "branch", "x"))
    create_tag(branch, "only")
    overwrite(branch, (8, "branch", "x"))
    expire(table, 3)
    expire(branch, 1)
    return table


@pytest.mark.parametrize("options", [None, CHANGELOGS], ids=["plain", "decoupled"])
@pytest.mark.parametrize("parallelism", [None, 1, 7])
def test_what_snapshots_tags_branches_and_changelogs_hold_stays(
    tmp_path: Path, options: dict[str, str] | None, parallelism: int | None
) -> None:
    table = history(tmp_path, options)
    lost = uncommitted(table, (9, "lost", "x"))
    needed = reachable(fresh(table))
    age(table)
    removed = remove(table, parallelism=parallelism)
    assert removed.count >= len(lost)
    assert reachable(fresh(table)) == needed
    assert needed == on_disk(table)
    assert bool(table.changelogs.ids()) == bool(options)
    for tag in fresh(table).tags.all():
        assert len(rows_at(table, tag.snapshot)) > 0


def test_a_rollback_s_files_are_orphans(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    for i in range(4):
        insert(table, (i, "v", "x"))
    rollback_to_snapshot(fresh(table), 2)
    age(table)
    assert remove(table).data == 2
    assert on_disk(table) == reachable(table)


def test_files_that_only_deleted_entries_name_are_orphans(tmp_path: Path) -> None:
    """A tag's removal that was interrupted leaves files that the base manifests still add and take away."""
    table = make_table(tmp_path / "t")
    insert(table, (1, "v", "x"))
    create_tag(table, "one")
    overwrite(table, (2, "v", "x"))
    expire(table, 1)
    table.tags.remove("one")
    age(table)
    assert remove(table).data == 1
    assert {p for p in on_disk(table) if "bucket-" in p} <= reachable(fresh(table))


@pytest.mark.parametrize(
    "victim", ["manifest-list-*", "manifest-[0-9a-f]*", "snapshot-2", "snapshot-3", "tag-one", "index-manifest-*"]
)
@pytest.mark.parametrize("harm", ["corrupt", "missing"])
def test_an_unreadable_protector_stops_the_search(tmp_path: Path, victim: str, harm: str) -> None:
    table = make_table(tmp_path / "t", primary_keys=("id",))
    for i in range(3):
        insert(table, (i, "v", "x"))
    table.file_io.write_bytes(table.paths.manifest("index-manifest-1"), write_index_manifest([]))
    amend_latest(table, indexManifest="index-manifest-1")
    create_tag(table, "one", 1)
    planted = plant(table, *litter()[:2])
    victims = sorted(Path(table.path).rglob(victim))
    if harm == "missing" and victim == "tag-one":
        return  # what is not there holds nothing
    broken = victims[-1]
    if harm == "missing":
        broken.unlink()
    else:
        broken.write_bytes(b"rubbish")
    with pytest.raises(PaimonError, match=r"no file was deleted") as caught:
        remove(table)
    assert broken.name in str(caught.value)
    assert all(Path(p).exists() for p in planted)


class Meddling(LocalFileIO):
    """Does something before the listing of a folder of number ``at``."""

    def __init__(self, at: int, action: Callable[[], object]) -> None:
        self.at = at
        self.action = action

    def list(self, path: str) -> list[FileStatus]:
        self.at -= 1
        if self.at == 0:
            self.action()
        return super().list(path)


def test_what_is_committed_at_any_moment_of_the_search_stays(tmp_path: Path) -> None:
    for at in range(1, 50):
        table = make_table(tmp_path / f"t{at}")
        insert(table, (1, "v", "x"))
        messages = plan_write(table).run([batch_of(table, [(2, "w", "x")])])
        age(table)
        meddling = Meddling(at, lambda: commits.append(fresh(table), messages))  # noqa: B023
        plan = find(replace(table, file_io=meddling))
        if meddling.at > 0:
            assert at > 12
            return
        remove_orphans(plan)
        assert reachable(fresh(table)) <= on_disk(table)
    raise AssertionError("the search never came to an end")


def test_files_committed_between_search_and_removal_stay(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "v", "x"))
    messages = plan_write(table).run([batch_of(table, [(2, "w", "x")])])
    age(table)
    plan = find(table)
    assert len(plan.orphans) == 1
    commits.append(fresh(table), messages)
    assert remove_orphans(plan).count == 0
    assert reachable(fresh(table)) <= on_disk(table)


def test_old_files_stay_when_all_snapshots_that_were_asked_expire(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "v", "x"))
    age(table)
    asked: list[int] = []

    class Expiring(LocalFileIO):
        def status(self, path: str) -> FileStatus | None:
            newest = fresh(table).snapshots.latest()
            assert newest is not None
            if path.endswith(newest.base_manifest_list) and len(asked) < 4:
                asked.append(newest.id)
                insert(table, (newest.id + 1, "v", "x"))
                expire(table, 1)
            return super().status(path)

    assert remove(replace(table, file_io=Expiring())).count == 0
    assert asked == [1, 2, 3, 4]
    last = fresh(table).snapshots.latest()
    assert last is not None
    assert len(rows_at(fresh(table), last)) == 5


def test_tags_that_keep_changing_end_the_search(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "v", "x"))
    plant(table, *litter()[:1])

    class Tagging(LocalFileIO):
        def list(self, path: str) -> list[FileStatus]:
            if path.endswith("/tag"):
                Path(path).mkdir(exist_ok=True)
                shutil.copy(f"{table.path}/snapshot/snapshot-1", f"{path}/tag-{uuid.uuid4()}")
            return super().list(path)

    with pytest.raises(CommitConflictError, match="tags or branches changed"):
        remove(replace(table, file_io=Tagging()))


def test_external_folders_are_searched_too(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    table = make_table(tmp_path / "t", {"data-file.external-paths": str(outside)})
    insert(table, (1, "v", "x"))
    one = str(uuid.uuid4())
    for name in (f"bucket-0/data-{one}-0.parquet", f"bucket-0/0101/1100/0000/10101010/data-{one}-1.parquet"):
        path = outside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (OLD, OLD))
    yesterday = int(time.time() * 1000) - 86_400_000
    shared = Search(yesterday, LocalExecutor(), foreign={str(outside)})
    assert remove_orphans(find_orphans(fresh(table), shared)).count == 0
    assert remove(table).count == 2
    assert outside.exists()


def test_a_table_without_a_snapshot_has_orphans_too(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    age(table, uncommitted(table, (1, "v", "x")))
    assert remove(table).count == 1
    assert remove(make_table(tmp_path / "u")).count == 0


def test_names_are_told_by_their_folder() -> None:
    names = CandidateFilter(("data-",), 0)
    one = str(uuid.uuid4())
    manifest = names.pattern(FolderKind.MANIFEST)
    assert manifest is not None and manifest.fullmatch(f"manifest-{one}-0")
    assert not manifest.fullmatch(f"data-{one}-0.parquet")
    assert names.pattern(FolderKind.NUMBERED) is None


class Pickling(LocalExecutor):
    """Sends tasks and answers as an engine does that has workers elsewhere."""

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        for task in tasks:
            yield pickle.loads(pickle.dumps(function(pickle.loads(pickle.dumps(task)))))


def test_all_steps_run_elsewhere_too(tmp_path: Path) -> None:
    table = history(tmp_path)
    plant(table, *litter())
    age(table)
    yesterday = int(time.time() * 1000) - 86_400_000
    wanted = remove(table, dry_run=True)
    assert remove_orphans(find_orphans(fresh(table), Search(yesterday, Pickling(), 3))).count == wanted.count > 0
    assert on_disk(table) == reachable(fresh(table))
