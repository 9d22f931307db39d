"""What must hold when a round is over."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from paimon_sql.errors import PaimonError
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.compact.compaction import plan_table
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.maintenance.orphans.removal import find_orphans, remove_orphans
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.tags.management import delete_tags
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.repair.repair import repair
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.rescale import rescale
from tests.faults.actions.job import ONE, write
from tests.faults.history import MAIN, SAME_ROWS, History, Operation, Outcome, Role, Snap
from tests.faults.model import Row
from tests.faults.reading import partitions_held, read_rows
from tests.storage import commits
from tests.storage import small_tables as small

if TYPE_CHECKING:
    from tests.faults.world import World


def check(world: World) -> list[str]:
    """What is wrong with the table of a round that is over."""
    from tests.faults.world import forget_caches

    forget_caches()
    history, found = world.history, []
    found += check_reads(world)
    found += check_operations(world)
    found += check_directories(world)
    if not (world.path / "schema").is_dir():
        return found
    try:
        tables = [opened(world.path, branch) for branch in history.branches if has_schema(world.path, branch)]
        for table in tables:
            found += check_branch(world, table)
        found += check_newest(world, tables)
        forget_caches()
        found += check_files(world, tables)
        found += check_goes_on(world)
    except PaimonError as error:
        found.append(f"the table cannot be read: {type(error).__name__}: {error}")
    return list(dict.fromkeys(found))


def has_schema(path: Path, branch: str) -> bool:
    """Whether a branch is whole; one that was not made, or not deleted, to the end has no schema."""
    return branch == MAIN or any((path / "branch" / f"branch-{branch}" / "schema").glob("schema-*"))


def opened(path: Path, branch: str = MAIN) -> Table:
    """The table as a new process opens it."""
    file_io = LocalFileIO()
    schema = SchemaManager(file_io, str(path)).latest()
    assert schema is not None
    table = Table("db.t", str(path), file_io, schema)
    return table if branch == MAIN else branch_of(table, branch)


def check_reads(world: World) -> list[str]:
    """Rows that were read are those of the snapshot that was read."""
    found = []
    for operation, read in world.reads:
        world.result.reads += 1
        wrong = world.history.state(read.uuid).faults(read.rows, shown=not world.plan.kind.lazy)
        found += [f"{operation.token} read of snapshot {read.uuid[:6]}: {what}" for what in wrong]
    return found


def check_operations(world: World) -> list[str]:
    """What was acknowledged is in the history once, what was refused is not."""
    history = world.history
    found: list[str] = []
    chains = {branch: list(history.chain(history.newest(branch))) for branch in history.lines}
    present: Counter[str] = Counter()
    for branch, chain in chains.items():
        counted = Counter(s.operation.token for s in chain if s.operation is not None and _brings_rows(s))
        present |= counted
        found += [f"{token} is {n} times in the history of {branch}" for token, n in counted.items() if n > 1]
        for snap in chain:
            if snap.misplaced:
                found.append(f"{_who(snap)} is in the history of {branch}, which had gone another way")
            by = snap.operation
            if by is not None and by.identity not in ("", snap.identity) and not by.may_come_late:
                found.append(f"{_who(snap)} went into another table of that name")
    made: dict[str, list[Snap]] = {}
    for snap in history.snaps.values():
        if _brings_rows(snap) and snap.operation is not None:
            made.setdefault(snap.operation.token, []).append(snap)
    for operation in history.operations.values():
        if operation.role is not Role.WRITE or operation.effect.kind == "none":
            continue
        own = made.get(operation.token, [])
        is_cut = any(s.cut is not None for s in own) or (own and operation.branch not in history.lines)
        if operation.outcome is Outcome.REFUSED and present[operation.token]:
            found.append(f"{_named(operation)} was refused, and is in the history")
        if operation.outcome is Outcome.ACKNOWLEDGED:
            cuts = [s.cut for s in own if s.cut is not None and s.cut.role is Role.REWIND]
            refused = [cut for cut in cuts if cut.outcome is Outcome.REFUSED]
            found += [f"{_named(operation)} was taken by {_named(cut)}" for cut in refused]
        if _must_be_there(world, operation) and not present[operation.token] and not is_cut:
            found.append(f"{_named(operation)} was acknowledged, and is not in the history")
    return found


def _must_be_there(world: World, operation: Operation) -> bool:
    if operation.token in world.shared.get("sure", ()):
        return True
    # Loads and epochs are operations inside of others, which know what becomes of them.
    if ":" in operation.token or "/" in operation.token or operation.name in ("load files", "stream epoch"):
        return False
    # An overwrite by nothing of nothing makes no snapshot.
    is_put = operation.effect.kind in ("put", "overwrite")
    return operation.outcome is Outcome.ACKNOWLEDGED and is_put and bool(operation.effect.rows)


def _brings_rows(snap: Snap) -> bool:
    return snap.operation is not None and snap.kind not in SAME_ROWS and snap.operation.effect.kind != "none"


def _who(snap: Snap) -> str:
    return f"snapshot {snap.number} {snap.uuid[:6]} of {_named(snap.operation) if snap.operation else 'nobody'}"


def _named(operation: Operation) -> str:
    return (
        f"{operation.token} ({operation.name} on {operation.branch}: {operation.outcome.value} {operation.error[:200]})"
    )


def check_branch(world: World, table: Table) -> list[str]:
    """The retained snapshots are those of the history, and all of them and the tags show what they should."""
    history, branch, found = world.history, table.branch, []
    where = f"branch {branch}" if branch != MAIN else "main"
    line = history.lines.get(branch, {})
    directory = table.snapshots.directory
    ids, earliest, latest = directory.versions(), directory.earliest(), table.snapshots.latest_id()
    retained = [i for i in ids if earliest is not None and earliest <= i <= (latest or 0)]
    unfinished = any(
        o.role is Role.REWIND and o.outcome is not Outcome.ACKNOWLEDGED for o in history.operations.values()
    )
    is_dead = any(o.outcome in (Outcome.RUNNING, Outcome.UNKNOWN) for o in history.operations.values())
    if not is_dead and any(i > (latest or 0) for i in ids):
        found.append(f"{where}: snapshots were left that nobody counts: {ids} behind {latest}")
    if not unfinished:
        if retained and retained != list(range(retained[0], retained[-1] + 1)):
            found.append(f"{where}: the history has a gap: {retained}")
        if retained and latest != retained[-1]:
            found.append(f"{where}: the newest snapshot is {latest} of {retained}")
    wanted = line[max(line)] if line else None
    last = table.snapshots.latest()
    newest = str(last.uuid) if last is not None else None
    if newest != wanted:
        found.append(
            f"{where}: the newest snapshot is {latest} {newest and newest[:6]} instead of {_of(history, wanted)}"
        )
    for number in retained:
        snapshot = table.snapshots.get(number)
        if line.get(number) != str(snapshot.uuid):
            found.append(f"{where}: snapshot {number} is none of the history: {_of(history, str(snapshot.uuid))}")
        found += _shown(world, table, f"{where}: snapshot {number}", str(snapshot.uuid), number)
    for tag in table.tags.all():
        uuid = str(tag.snapshot.uuid)
        if uuid not in history.snaps:
            found.append(f"{where}: tag {tag.name} keeps a snapshot that never was")
            continue
        try:
            rows = read_rows(table, tag.snapshot)
        except PaimonError as error:
            if _came_late(history.operations.get(history.tagged_by.get(table.tags.path(tag.name), ""))):
                delete_tags(table, [tag.name])  # nothing else ends it
            else:
                found.append(f"{where}: tag {tag.name} on {tag.snapshot.id} cannot be read: {error}")
            continue
        wrong = history.state(uuid).faults(rows, shown=not world.plan.kind.lazy)
        found += [f"{where}: tag {tag.name} on {tag.snapshot.id}: {what}" for what in wrong]
    return found


def _came_late(tagging: Operation | None) -> bool:
    """Whether a tag may have come when its snapshot had gone: who asked for it was killed, or got no answer."""
    return tagging is not None and (tagging.may_come_late or "injected" in tagging.error)


def _of(history: History, uuid: str | None) -> str:
    return "none" if uuid is None else _who(history.snaps[uuid])


def _shown(world: World, table: Table, what: str, uuid: str, number: int) -> list[str]:
    try:
        rows = read_rows(table, table.snapshots.get(number))
    except PaimonError as error:
        return [f"{what} cannot be read: {type(error).__name__}: {error}"]
    return [f"{what}: {one}" for one in world.history.state(uuid).faults(rows, shown=not world.plan.kind.lazy)]


def check_directories(world: World) -> list[str]:
    """A table that was dropped has left nothing, and one that was being renamed is one table."""
    other = world.path.parent / "u"
    if other.is_dir() and not world.path.is_dir():
        other.rename(world.path)  # as the next RENAME would
        world.history.observe(None)
    if (other / "schema").is_dir():
        if (world.path / "schema").is_dir():
            return ["the table has two names"]
        # Others have made directories where it had been; there is nothing in them but what the next search for orphan
        # files finds.
        files = (p for p in world.path.rglob("*") if p.is_file() and p.name not in ("LATEST", "EARLIEST"))
        left = [str(p) for p in files if not p.parent.name.startswith("bucket-") and not _is_unattended(world, p)]
        if world.history.hindered or any(o.was_cut_short for o in world.history.operations.values()):
            # Whoever wrote them may not have been able to delete them.
            left = [path for path in left if "/snapshot/" in path]
        shutil.rmtree(world.path)
        other.rename(world.path)
        world.history.observe(None)
        return [f"files were written where a table had been: {left}"] if left else []
    if world.path.is_dir() and not (world.path / "schema").is_dir():
        left = [str(p) for p in world.path.rglob("snapshot-*") if not _is_unattended(world, p)]
        return [f"a table that is gone has snapshots: {left}"] if left else []
    return []


def _is_unattended(world: World, file: Path) -> bool:
    """Whether a file is a snapshot that its writer could not look after: it was killed, or had given it up."""
    if not file.name.startswith("snapshot-"):
        return False
    try:
        stored = json.loads(file.read_bytes())
    except ValueError:
        return False  # torn
    snap = world.history.snaps.get(stored["uuid"])
    writer = world.history.operations.get(stored["commitUser"], snap.creator if snap else None)
    return writer is not None and (writer.outcome is Outcome.UNKNOWN or writer.token in world.history.late)


def check_newest(world: World, tables: list[Table]) -> list[str]:
    """The newest snapshot of each branch shows the same rows under the newest columns."""
    found = []
    for table in tables:
        rows = read_newest(table)
        state = world.history.state(world.history.newest(table.branch))
        found += [f"{table.branch} now: {what}" for what in state.faults(rows, shown=not world.plan.kind.lazy)]
    return found


def check_files(world: World, tables: list[Table]) -> list[str]:
    """Once orphans are removed, the files are those that metadata leads to."""
    main, found = tables[0], []
    if any(table.snapshots.late_snapshots() for table in tables):
        found += _problems(main)  # nothing else ends a rollback whose process is dead
    for folder, _, names in os.walk(world.path):
        for name in names:  # orphans, and snapshots that expired, are left to their writers as long as they are young
            os.utime(Path(folder, name), (1_000_000_000, 1_000_000_000))
    for table in tables:
        finish_expiry(table)
    needed = small.reachable(main)
    there = small.on_disk(main)
    found += [f"{path} is missing" for path in sorted(needed - there)]
    try:
        remove_orphans(find_orphans(main, Search(1_500_000_000_000, ONE)))
    except PaimonError as error:
        return [*found, f"orphans cannot be removed: {type(error).__name__}: {error}"]
    after = small.on_disk(main)
    left = {p for p in after - needed if "/copy-into/" not in p}
    found += [f"{path} is left over" for path in sorted(left)]
    found += [f"{path} was removed with the orphans" for path in sorted(needed - after)]
    for table in tables:
        found += _problems(table)
    return found


def _problems(table: Table) -> list[str]:
    """What a repair cannot put right; a branch that was not made, or not deleted, to the end is what it is to say."""
    problems = (p for p in repair(table).problems if "it has no schema. CALL sys.delete_branch" not in p)
    return [f"repair: {problem}" for problem in problems]


def finish_expiry(table: Table) -> None:
    """Remove what an expiry that was killed has left; no other snapshot goes."""
    many = 10**6
    expire_snapshots(replace(table), Retention(many, many, 0, many))


def check_goes_on(world: World) -> list[str]:
    """The next writer and the next compaction work, and then all rows show."""
    table = opened(world.path)
    rows = read_newest(table)
    state = world.history.state(world.history.newest())
    if world.plan.kind.has_fixed_buckets:  # one who was to do so may have been killed
        rescale(table, dict.fromkeys(partitions_held(table), table.options.get(BUCKET)), ONE)
        table = opened(world.path)
    new = Row(9_999_999, "after", 1, "x")
    messages, _ = write(table, [new])
    commits.append(table, messages)
    table = opened(world.path)
    messages = plan_table(table, full=True).run(ONE)
    commits.compact(table, messages)
    shown = read_newest(opened(world.path))
    found = [f"after a compaction: {what}" for what in state.faults([r for r in shown if r != new])]
    if new not in shown:
        found.append("a row that was written after the round does not show")
    if not world.plan.kind.lazy and sorted(map(repr, rows)) != sorted(repr(r) for r in shown if r != new):
        found.append("a compaction changed the rows")
    return found


def read_newest(table: Table) -> list[Row]:
    """The rows that the table shows now."""
    latest = table.snapshots.latest()
    return [] if latest is None else read_rows(table, latest, as_of=False)
