"""Maintenance that is killed: between any two changes of files, by the end of its process.

Run as a program with a folder, names of scenarios with commas between, and a number n: every n-th change is one to be
killed at. Each run is a process of its own, forked off this one. When it is
dead, every snapshot and tag that is retained must read as it did or as it should afterwards; the same call then
finishes the work, and nothing is left over but what the search for orphan files finds.
Ends with 0 if all is well.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from paimon_sql.errors import AlreadyExistsError, NotFoundError
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.storage.branches.management import create_branch, delete_branches, rename_branch
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.compact.compaction import compact_due, plan_table
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.maintenance.orphans.removal import find_orphans, remove_orphans
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot, rollback_to_tag
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags, rename_tag, replace_tag
from paimon_sql.storage.operations.compact_manifests import ManifestCompactor
from paimon_sql.storage.operations.fast_forward import fast_forward
from paimon_sql.storage.operations.purge import purge
from paimon_sql.storage.repair.lost_files import LostFile, remove_lost
from paimon_sql.storage.repair.repair import repair
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.retention.tags import is_guard
from paimon_sql.storage.table.table import Table
from tests.storage import commits
from tests.storage import core_tables as core
from tests.storage import small_tables as small
from tests.storage.child_processes import in_child

KILLED = 9
MOST = 400
Action = Callable[[Table], object]
Rows = tuple[core.Row, ...]
State = dict[str, Rows]
"""What snapshots and tags show, by branch and number or name."""


class KillingFileIO(LocalFileIO):
    """Ends the process before change number ``at``; every other time in the midst of it, half a file being there."""

    def __init__(self, at: int) -> None:
        self.at = at

    def _step(self, path: str | None = None, data: bytes = b"") -> None:
        if self.at == 0:
            if path is not None and len(path) % 2:
                folder, _, name = path.rpartition("/")
                Path(folder).mkdir(parents=True, exist_ok=True)
                Path(folder, f".{name}.{uuid.uuid4()}.tmp").write_bytes(data[: len(data) // 2])
            os._exit(KILLED)
        self.at -= 1

    def open_output(self, path: str) -> pa.NativeFile:
        if self.at == 0:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(b"PAR1")
        self._step()
        return super().open_output(path)

    def write_bytes(self, path: str, data: bytes) -> None:
        self._step(path, data)
        super().write_bytes(path, data)

    def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
        self._step(path, data)
        return super().try_create_exclusive(path, data, locked=locked)

    def rename(self, src: str, dst: str) -> bool:
        self._step()
        return super().rename(src, dst)

    def delete(self, path: str) -> bool:
        self._step()
        return super().delete(path)

    def delete_if(self, path: str, is_meant: Callable[[bytes], bool], *, durable: bool = False) -> bool:
        self._step()
        return super().delete_if(path, is_meant, durable=durable)

    def delete_many(self, paths: Iterable[str], threads: int = 8) -> int:
        return sum(map(self.delete, list(paths)))

    def delete_dir(self, path: str, recursive: bool = False) -> bool:
        if recursive:
            for entry in self.list(path):
                _ = self.delete_dir(entry.path, recursive=True) if entry.is_dir else self.delete(entry.path)
        self._step()
        return super().delete_dir(path)


@dataclass(frozen=True)
class Scenario:
    """A table, what is done to it, and how much of that a crash may leave to the search for orphan files."""

    make: Callable[[Path], Table]
    action: Action
    is_clean: bool = False
    """Whether the same call alone removes everything that a crash left."""
    repeats: bool = True
    """Whether the call may be made again when it was done already."""


def opened(table: Table, branch: str = MAIN_BRANCH) -> Table:
    main = core.again(replace(table, branch=MAIN_BRANCH), file_io=LocalFileIO())
    return main if branch == MAIN_BRANCH else branch_of(main, branch)


def state(table: Table) -> State:
    """What everything retained shows, which must all be readable."""
    found: State = {}
    for name in [MAIN_BRANCH, *opened(table).branches.names()]:
        branch = opened(table, name)
        earliest = branch.snapshots.earliest_id() or 0
        for s in branch.snapshots.all():
            if s.id >= earliest:
                found[f"{name} {s.id}"] = tuple(small.rows_at(branch, s))
        for t in branch.tags.all():
            if not is_guard(t.name):
                found[f"{name} tag {t.name}"] = tuple(small.rows_at(branch, t.snapshot))
    return found


def newest(table: Table) -> Rows:
    latest = opened(table).snapshots.latest()
    return () if latest is None else tuple(small.rows_at(opened(table), latest))


def age(table: Table) -> None:
    """Make all files older than a day."""
    for path in Path(table.path).rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))


def remove_old(table: Table) -> None:
    """Remove the orphan files that are older than a day."""
    yesterday = int(time.time() * 1000) - 86_400_000
    remove_orphans(find_orphans(table, Search(yesterday, LocalExecutor(1))))


def kill_everywhere(folder: Path, scenario: Scenario, every: int) -> int:
    """Kill an action before each of its changes, or every so many: how many there were at least."""
    table = scenario.make(folder)
    before, rows_before = state(table), newest(table)
    done = replace(table, path=str(folder / "done"))
    shutil.copytree(table.path, done.path)
    scenario.action(opened(done))
    after, rows_after = state(done), newest(done)
    for at in range(every // 2, MOST, every):
        copy = replace(table, path=str(folder / f"copy-{at}"))
        shutil.copytree(table.path, copy.path, copy_function=shutil.copy2)
        ended = in_child(partial(scenario.action, core.again(copy, file_io=KillingFileIO(at))))
        assert ended in (0, KILLED), ended
        if ended == 0:
            assert state(copy) == after
            return at
        found = state(copy)
        known = {rows_before, rows_after, *(before.values() if scenario.repeats else ())}
        assert newest(copy) in known, (at, newest(copy))
        assert all(rows in (before.get(k), after.get(k), rows_after) for k, rows in found.items()), (at, found)
        assert before.items() & after.items() <= found.items(), (at, before.items() & after.items() - found.items())
        if found != after or scenario.repeats:
            with suppress(AlreadyExistsError, NotFoundError):
                scenario.action(opened(copy))
        if scenario.repeats:
            assert state(copy) == after, (at, state(copy), after)
        else:
            assert newest(copy) == rows_after, at
        needed = small.reachable(opened(copy))
        assert needed <= small.on_disk(copy), at
        if scenario.is_clean:
            assert needed == small.on_disk(copy), (at, small.on_disk(copy) - needed)
        age(copy)
        remove_old(opened(copy))
        assert needed == small.on_disk(copy), (at, small.on_disk(copy) ^ needed)
        assert repair(opened(copy)).problems == [], at
        core.insert(opened(copy), (99, "later", "x"))
        compact(opened(copy))
        assert (99, "later", "x") in newest(copy)
        shutil.rmtree(copy.path)
    raise AssertionError("the action never came to an end")


def expire(table: Table, keep: int = 2) -> None:
    expire_snapshots(table, Retention(keep, keep, 2**62, 100))


ONLY = {"write-only": "true"}
DECOUPLED = {"changelog-producer": "input", "snapshot.num-retained.max": "50", "changelog.num-retained.max": "60"}
BRIEF = {"changelog.num-retained.min": "1", "changelog.num-retained.max": "3", "snapshot.num-retained.min": "1"}


def append_table(folder: Path, options: dict[str, str] | None = None) -> Table:
    """An append table with six snapshots, a tag on the second and a branch of it with rows of its own."""
    table = core.make_table(folder / "t", {**ONLY, **(options or {})}, partitions=("p",))
    for i in range(3):
        core.insert(table, (i, f"v{i}", "x"), (i, f"v{i}", "y"))
    create_tag(opened(table), "kept", 2)
    create_branch(opened(table), "b", tag="kept")
    core.insert(opened(table, "b"), (7, "branch", "x"))
    core.overwrite(table, (4, "w", "x"))
    core.overwrite(table, (5, "w", "y"), dynamic=True)
    core.insert(table, (6, "w", "x"))
    return table


def keyed_table(folder: Path, options: dict[str, str] | None = None) -> Table:
    """A keyed table with upserts, compactions, a tag and changelogs if the options say so."""
    table = core.make_table(folder / "t", {**ONLY, **(options or {})}, keys=("id",))
    for i in range(4):
        core.insert(table, (i % 2, f"v{i}", "x"))
        if i == 2:
            core.compact(table)
            create_tag(opened(table), "kept")
    core.insert(table, (0, "last", "y"))
    return table


def expired(make: Callable[[Path], Table]) -> Callable[[Path], Table]:
    """A table of which only tags keep the first snapshots."""

    def made(folder: Path) -> Table:
        table = make(folder)
        expire(opened(table))
        return table

    return made


def with_orphans(folder: Path) -> Table:
    table = append_table(folder)
    rollback_to_snapshot(opened(table), 4)
    delete_branches(opened(table), ["b"])
    age(table)
    return table


def with_lost(folder: Path) -> Table:
    """A table one of whose files is lost; only its newest snapshot is looked at."""
    table = core.make_table(folder / "t", {**ONLY, "snapshot.num-retained.max": "50"}, partitions=("p",))
    core.insert(table, (1, "v", "x"))
    core.overwrite(table, (2, "v", "x"), (3, "v", "y"))
    return table


def insert_row(table: Table) -> None:
    commits.append(table, core.written(table, (50, "new", "x")))


def upsert_with_compaction(table: Table) -> None:
    messages = core.written(table, (0, "new", "x"))
    due = table.with_options({"write-only": "false", "num-sorted-run.compaction-trigger": "2"})
    commits.append(table, [*messages, *compact_due(due, messages, LocalExecutor(1))])


def compact(table: Table) -> None:
    commits.compact(table, plan_table(table, full=True).run(LocalExecutor(1)))


def forget_file(table: Table) -> None:
    latest = table.snapshots.latest()
    assert latest is not None
    lost = next(e for e in core.live(table) if table.locations.partition(e.partition) == "p=y")
    path = table.locations.data_file(lost.partition, lost.bucket, lost.file)
    remove_lost(table, latest, [LostFile(path, lost)])  # which is there all the same, so that the history reads


def merge_expire(table: Table) -> None:
    expire_snapshots(table.with_options({**BRIEF, "snapshot.num-retained.max": "2"}), Retention(2, 1, 2**62, 100))


DEEP = {**DECOUPLED, "bucket": "1"}
VECTORS = {"deletion-vectors.enabled": "true"}

SCENARIOS: dict[str, Scenario] = {
    "append": Scenario(append_table, insert_row, repeats=False),
    "upsert": Scenario(keyed_table, upsert_with_compaction, repeats=False),
    "compaction": Scenario(keyed_table, compact, repeats=False),
    "compaction with vectors": Scenario(partial(keyed_table, options=VECTORS), compact, repeats=False),
    "manifests": Scenario(append_table, lambda t: ManifestCompactor(t).run(), repeats=False),
    "expiry": Scenario(append_table, expire, is_clean=True),
    "expiry of all": Scenario(keyed_table, partial(expire, keep=1), is_clean=True),
    "expiry with vectors": Scenario(partial(keyed_table, options=VECTORS), expire, is_clean=True),
    "expiry of a branch": Scenario(append_table, lambda t: expire(branch_of(t, "b"), 1), is_clean=True),
    "expiry without changelogs": Scenario(partial(keyed_table, options=DEEP), expire, is_clean=True),
    "expiry of changelogs": Scenario(expired(partial(keyed_table, options=DEEP)), merge_expire),
    "tag": Scenario(append_table, lambda t: create_tag(t, "new", 3), is_clean=True),
    "tag moved": Scenario(expired(append_table), lambda t: replace_tag(t, "kept", 5)),
    "tag renamed": Scenario(append_table, lambda t: rename_tag(t, "kept", "other"), is_clean=True),
    "tag deleted": Scenario(expired(append_table), lambda t: delete_tags(t, ["kept"])),
    "branch": Scenario(append_table, lambda t: create_branch(t, "c", tag="kept")),
    "branch renamed": Scenario(append_table, lambda t: rename_branch(t, "b", "c")),
    "branch deleted": Scenario(expired(append_table), lambda t: delete_branches(t, ["b"])),
    "fast-forward": Scenario(append_table, lambda t: fast_forward(t, "b")),
    "rollback": Scenario(append_table, lambda t: rollback_to_snapshot(t, 3)),
    "rollback to a tag": Scenario(expired(append_table), lambda t: rollback_to_tag(t, "kept")),
    "orphans": Scenario(with_orphans, remove_old, is_clean=True),
    "lost files": Scenario(with_lost, forget_file, repeats=False),
    "purge": Scenario(append_table, purge),
    "repair": Scenario(append_table, repair, is_clean=True),
}


def main(folder: Path, names: str, every: int) -> None:
    """Go through scenarios, given by name with commas between."""
    for name in names.split(","):
        try:
            kill_everywhere(folder / name.replace(" ", "_"), SCENARIOS[name], every)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
