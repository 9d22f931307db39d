"""A small table under random statements and random maintenance, with a plain model of what it holds.

The model knows the rows of every branch, and what each snapshot and tag showed when it was made. After whatever was
done all of them must still show that, and the files on disk must be those that the metadata leads to.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from paimon_sql.errors import AlreadyExistsError, InvalidInputError, MissingFileError
from paimon_sql.format.global_index.registry import KINDS as INDEX_KINDS
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.metadata.manifest import entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.system_fields import RowKind
from paimon_sql.storage.branches.management import create_branch, delete_branches, rename_branch
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.compact.compaction import compact_due, plan_table
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.expressions.predicates import Comparison
from paimon_sql.storage.indexes.drop_global_index import index_files_of
from paimon_sql.storage.indexes.global_index import build_index, drop_messages, index_column, plan_index
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.maintenance.orphans.removal import find_orphans, remove_orphans
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot, rollback_to_tag
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags, rename_tag, replace_tag
from paimon_sql.storage.operations.compact_manifests import ManifestCompactor
from paimon_sql.storage.operations.fast_forward import fast_forward
from paimon_sql.storage.operations.purge import purge
from paimon_sql.storage.repair.lost_files import find_lost
from paimon_sql.storage.repair.repair import repair
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.row_level.vectors import mark
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.proposal import Overwrite, overwritten
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage import core_tables as core
from tests.storage import small_tables as small

Row = core.Row
Rows = Counter[Row]

ONLY = {"write-only": "true"}
DECOUPLED = {"snapshot.num-retained.max": "50", "changelog.num-retained.max": "60", "changelog.num-retained.min": "4"}
EVOLVING = {
    "row-tracking.enabled": "true",
    "data-evolution.enabled": "true",
    "global-index.search-mode": "full",
}
KINDS: dict[str, tuple[dict[str, str], tuple[str, ...], tuple[str, ...]]] = {
    "append": (ONLY, (), ()),
    "append_partitions": (ONLY, (), ("p",)),
    "append_vectors": ({**ONLY, "deletion-vectors.enabled": "true"}, (), ("p",)),
    "keyed": ({**ONLY, "bucket": "2"}, ("id",), ()),
    "keyed_vectors": ({"bucket": "1", "deletion-vectors.enabled": "true"}, ("id",), ()),
    "keyed_partitions": ({**ONLY, "bucket": "1"}, ("id", "p"), ("p",)),
    "dynamic": ({**ONLY, "bucket": "-1", "dynamic-bucket.target-row-num": "2"}, ("id", "p"), ("p",)),
    "input": ({**ONLY, "bucket": "1", "changelog-producer": "input"}, ("id",), ()),
    "lookup": ({"bucket": "1", "changelog-producer": "lookup", **DECOUPLED}, ("id",), ()),
    "input_decoupled": ({**ONLY, "bucket": "1", "changelog-producer": "input", **DECOUPLED}, ("id",), ()),
    "evolving": ({**ONLY, **EVOLVING}, (), ("p",)),
    "evolving_vectors": ({**ONLY, **EVOLVING, "deletion-vectors.enabled": "true"}, (), ("p",)),
    "append_decoupled": ({**ONLY, **DECOUPLED}, (), ("p",)),
}
"""The tables by name: options, key, partitions."""


@dataclass(frozen=True)
class State:
    """What a snapshot shows, and what it holds: with deletion vectors new rows do not show before a compaction."""

    shown: Rows
    held: Rows


@dataclass
class World:
    """A table and what it should hold.

    Args:
        table: the table.
        chance: decides everything.
    """

    table: Table
    chance: random.Random
    branches: list[str] = field(default_factory=lambda: [MAIN_BRANCH])
    live: dict[str, Rows] = field(default_factory=lambda: {MAIN_BRANCH: Counter()})
    known: dict[tuple[str, int], State] = field(default_factory=dict)
    tagged: dict[tuple[str, str], State] = field(default_factory=dict)
    leaves_files: bool = False
    done: Counter[str] = field(default_factory=Counter)
    _number: int = 0

    @classmethod
    def of(cls, path: Path, kind: str, seed: int) -> World:
        """A new table of a kind."""
        options, keys, partitions = KINDS[kind]
        # Nothing happens by itself but compactions, which tables with look-ups need.
        quiet = {"snapshot.num-retained.min": "1000", "snapshot.expire.limit": "1000"}
        options = {**quiet, **options}
        options.update({k: "1000" for k in DECOUPLED if k in options and k.startswith("snapshot")})
        options.update({k: str(2000) for k in ("changelog.num-retained.max",) if k in options})
        return cls(core.make_table(path, options, keys=keys, partitions=partitions), random.Random(seed))

    @property
    def keyed(self) -> bool:
        """Whether a row replaces the one of its key."""
        return bool(self.table.schema.primary_keys)

    def opened(self, branch: str) -> Table:
        """The table or a branch as a new statement sees it."""
        main = core.again(replace(self.table, branch=MAIN_BRANCH))
        return main if branch == MAIN_BRANCH else branch_of(main, branch)

    def step(self) -> str:
        """Do something: its name."""
        name = self.chance.choices(list(_ACTIONS), list(_WEIGHTS.values()))[0]
        branch = self.chance.choice(self.branches)
        before = set(self.opened(branch).snapshots.directory.versions())
        if _ACTIONS[name](self, branch) is not False:
            self.done[name] += 1
        self._note(branch, before, rewrites=name != "compact_manifests")
        return name

    def _note(self, branch: str, before: set[int], *, rewrites: bool) -> None:
        """Remember what new snapshots show; the newest must show what the model holds, unless no file was touched."""
        if branch not in self.branches:
            return
        table = self.opened(branch)
        new = [s for s in table.snapshots.all() if s.id not in before]
        brought = {snapshot.id for snapshot in new if (branch, snapshot.id) in self.known}
        for snapshot in new:
            self.known.setdefault((branch, snapshot.id), State(rows_of(table, snapshot), self.live[branch]))
        if new and new[-1].id not in brought:
            shown = self.known[branch, new[-1].id].shown
            wanted = self.live[branch] if rewrites else self.known[branch, max(before)].shown
            assert shown == wanted, f"the newest snapshot shows {shown}, not {wanted}"

    def forget(self, branch: str, behind: int = 0) -> None:
        """Snapshots behind one are no more."""
        self.known = {k: v for k, v in self.known.items() if k[0] != branch or k[1] <= behind}

    def check(self) -> None:
        """Everything retained shows what it showed, and the files are those that are needed."""
        for branch in self.branches:
            table = self.opened(branch)
            earliest = table.snapshots.earliest_id() or 0
            for snapshot in table.snapshots.all():
                assert snapshot.id >= earliest, "an expired snapshot is left"
                shown = self.known[branch, snapshot.id].shown
                assert rows_of(table, snapshot) == shown, (branch, snapshot.id)
                if "data-evolution.enabled" in table.schema.options:
                    self._ask(table, snapshot, shown)
            for tag in table.tags.all():
                assert rows_of(table, tag.snapshot) == self.tagged[branch, tag.name].shown, (branch, tag.name)
            assert {(branch, n) for n in table.tags.names()} == {k for k in self.tagged if k[0] == branch}
        main = self.opened(MAIN_BRANCH)
        needed, there = small.reachable(main), small.on_disk(main)
        assert needed <= there, f"missing: {sorted(needed - there)}"
        if not self.leaves_files:
            left = there - needed - self._silent_changelogs()
            assert not left, f"left over: {sorted(left)}"

    def _ask(self, table: Table, snapshot: Snapshot, shown: Rows) -> None:
        """Reads that global indexes narrow find all that they should."""
        for row in self.chance.sample(sorted(shown), min(2, len(shown))):
            for column, value in enumerate(row[:2]):
                field = table.schema.fields[column]
                predicate = Comparison(field.name, "=", pa.scalar(value, arrow_type(field.type)))
                found = Counter(small.rows_at(table, snapshot, predicate))
                wanted = Counter(r for r in shown.elements() if r[column] == value)
                assert found == wanted, f"{predicate} finds {found} instead of {wanted}"

    def _silent_changelogs(self) -> set[str]:
        """The files of commits whose changelogs are empty, which may stay as long as the changelogs do.

        A table that makes changelogs does not need them, but nobody can tell what it made when it committed.
        """
        if self.table.schema.options.get("changelog-producer", "none") == "none":
            return set()
        plain = replace(self.table, schema=replace(self.table.schema, options={}))
        found: set[str] = set()
        for name in self.branches:
            branch = replace(plain, branch=name)
            for changelog in branch.changelogs.all():
                if not changelog.changelog_manifest_list:
                    with suppress(MissingFileError):
                        found |= small.changelog_files(branch, changelog)
        return found

    # Statements.

    def some_rows(self) -> list[Row]:
        """New rows, with different keys."""
        keys = self.chance.sample(range(6), self.chance.randint(1, 3))
        rows = []
        for key in keys:
            self._number += 1
            rows.append((key, f"v{self._number}", self.chance.choice("xy")))
        return rows

    def put(self, rows: Rows, new: Sequence[Row]) -> Rows:
        """Rows with new ones among them."""
        names = self.table.schema.names
        places = [names.index(k) for k in self.table.schema.primary_keys]
        keys = {tuple(r[i] for i in places) for r in new}
        kept = (r for r in rows.elements() if not places or tuple(r[i] for i in places) not in keys)
        return Counter(kept) + Counter(new)

    def insert(self, branch: str) -> None:
        table, rows = self.opened(branch), self.some_rows()
        _append(table, core.written(table, *rows))
        self.live[branch] = self.put(self.live[branch], rows)

    def delete(self, branch: str) -> bool:
        """Delete rows: by writing deletes of their keys, or by marking some in a file."""
        table = self.opened(branch)
        if not self.live[branch]:
            return False
        if self.keyed:
            row = self.chance.choice(sorted(self.live[branch].elements()))
            _append(table, core.written(table, row, kinds=[RowKind.DELETE]))
            self.live[branch] = self.live[branch] - Counter([row])
            return True
        if "deletion-vectors.enabled" not in table.schema.options:
            return False
        latest = table.snapshots.latest()
        file = self.chance.choice(entries(live_files(table, latest).entries))
        vector = DeletionVector(sorted(self.chance.sample(range(file.file.row_count), 1)))
        before = rows_of(table, latest)  # type: ignore[arg-type]
        commits.append(table, mark(table, latest, [(file, vector)]))
        table = self.opened(branch)
        after = rows_of(table, table.snapshots.latest())  # type: ignore[arg-type]
        assert not after - before and (before - after).total() <= 1
        self.live[branch] = after
        return True

    def overwrite(self, branch: str) -> None:
        table, rows = self.opened(branch), self.some_rows()
        what = Overwrite(dynamic=bool(table.schema.partition_keys) and self.chance.random() < 0.5)
        messages = plan_write(table, what).run([core.batch_of(table, rows)])
        messages += compact_due(table, messages, LocalExecutor(1), what)
        commits.overwrite(table, messages, lambda latest: overwritten(table, latest, what, messages))
        gone = {r[2] for r in rows} if what.dynamic else set("xy")
        kept = Counter(r for r in self.live[branch].elements() if r[2] not in gone)
        self.live[branch] = self.put(kept, rows)

    def compact(self, branch: str) -> None:
        table = self.opened(branch)
        full = self.chance.random() < 0.5
        commits.compact(table, plan_table(table, full=full).run(LocalExecutor(1)))

    def compact_manifests(self, branch: str) -> None:
        sort = {"manifest-sort.enabled": "true"} if self.table.schema.partition_keys else {}
        ManifestCompactor(self.opened(branch).with_options(sort)).run()

    def index(self, branch: str) -> bool:
        """Build a global index or drop it; reads by it, as long as it is there, find what the model holds."""
        table = self.opened(branch)
        if "data-evolution.enabled" not in table.schema.options:
            return False
        column, kind = self.chance.choice(["v", "id"]), self.chance.choice(list(INDEX_KINDS))
        if self.chance.random() < 0.3:
            commits.change_indexes(table, drop_messages(index_files_of(table, column, kind, None)))
            return True
        plan = plan_index(table, index_column(table, column, kind), table.snapshots.latest(), None)
        if plan.tasks:
            commits.change_indexes(table, build_index(table, LocalExecutor(1), plan))
        return True

    # Tags, branches, consumers.

    def _some(self, items: Sequence[str]) -> str | None:
        return self.chance.choice(items) if items else None

    def tag(self, branch: str) -> bool:
        table = self.opened(branch)
        ids = table.snapshots.directory.versions()
        if not ids:
            return False
        name, snapshot = f"t{self.chance.randrange(4)}", self.chance.choice(ids)
        if table.tags.exists(name):
            replace_tag(table, name, snapshot)
        else:
            create_tag(table, name, snapshot)
        self.tagged[branch, name] = self.known[branch, snapshot]
        return True

    def rename_tag(self, branch: str) -> bool:
        table = self.opened(branch)
        name, target = self._some(table.tags.names()), f"t{self.chance.randrange(6)}"
        if name is None:
            return False
        with suppress(AlreadyExistsError):
            rename_tag(table, name, target)
            self.tagged[branch, target] = self.tagged.pop((branch, name))
        return True

    def untag(self, branch: str) -> bool:
        table = self.opened(branch)
        name = self._some(table.tags.names())
        if name is None:
            return False
        delete_tags(table, [name])
        del self.tagged[branch, name]
        return True

    def branch(self, branch: str) -> bool:
        table = self.opened(branch)
        tag = self._some(table.tags.names())
        if len(self.branches) > 2:
            return False
        name = next(n for n in ("b0", "b1", "b2", "b3") if n not in self.branches)
        create_branch(table, name, tag=tag)
        self.branches.append(name)
        self.live[name] = Counter()
        if tag is not None:
            kept = self.tagged[branch, tag]
            self.tagged[name, tag] = self.known[name, table.tags.get(tag).snapshot.id] = kept
            self.live[name] = kept.held
        return True

    def other_branch(self) -> str | None:
        return self._some([b for b in self.branches if b != MAIN_BRANCH])

    def _drop(self, name: str) -> None:
        self.branches.remove(name)
        self.forget(name)
        self.tagged = {k: v for k, v in self.tagged.items() if k[0] != name}

    def drop_branch(self, branch: str) -> bool:
        name = self.other_branch()
        if name is None:
            return False
        delete_branches(self.opened(MAIN_BRANCH), [name])
        self._drop(name)
        self.leaves_files = True
        return True

    def rename_branch(self, branch: str) -> bool:
        name = self.other_branch()
        if name is None:
            return False
        target = next(n for n in ("b0", "b1", "b2", "b3", "b4") if n not in self.branches)
        rename_branch(self.opened(MAIN_BRANCH), name, target)
        known = {(target, k[1]): v for k, v in self.known.items() if k[0] == name}
        tagged = {(target, k[1]): v for k, v in self.tagged.items() if k[0] == name}
        live = self.live[name]
        self._drop(name)
        self.branches.append(target)
        self.live[target] = live
        self.known.update(known)
        self.tagged.update(tagged)
        return True

    def fast_forward(self, branch: str) -> bool:
        name = self.other_branch()
        if name is None or not self.opened(name).snapshots.latest_id():
            return False
        first = self.opened(name).snapshots.earliest_id() or 0
        fast_forward(self.opened(MAIN_BRANCH), name)
        self.live[MAIN_BRANCH] = self.live[name]
        self.forget(MAIN_BRANCH, first - 1)
        self.known.update({(MAIN_BRANCH, k[1]): v for k, v in self.known.items() if k[0] == name})
        theirs = {(MAIN_BRANCH, k[1]): v for k, v in self.tagged.items() if k[0] == name}
        self.tagged.update(theirs)
        names = self.opened(MAIN_BRANCH).tags.names()
        self.tagged = {k: v for k, v in self.tagged.items() if k[0] != MAIN_BRANCH or k[1] in names}
        self.leaves_files = True
        return True

    def consumer(self, branch: str) -> bool:
        table = self.opened(branch)
        ids = table.snapshots.directory.versions()
        if self.chance.random() < 0.6 or not ids:
            return table.consumers.remove("c")
        table.consumers.reset("c", self.chance.choice(ids))
        return True

    # Maintenance.

    def expire(self, branch: str) -> None:
        keep = self.chance.randint(1, 4)
        options = {}
        if "changelog.num-retained.max" in self.table.schema.options:
            most = str(self.chance.choice([keep, 4, 8]))
            options = {"snapshot.num-retained.max": str(keep), "snapshot.num-retained.min": "1"}
            options.update({"changelog.num-retained.max": most, "changelog.num-retained.min": "1"})
        table = self.opened(branch).with_options(options)
        expire_snapshots(table, Retention(keep, self.chance.randint(1, keep), 2**62, self.chance.randint(1, 20)))
        # A table that makes no changelog keeps what its commits took away until the changelogs go that hold it.
        self.leaves_files |= bool(options) and table.schema.options.get("changelog-producer", "none") == "none"

    def roll_back(self, branch: str) -> bool:
        table = self.opened(branch)
        ids, tag = table.snapshots.directory.versions(), self._some(table.tags.names())
        if tag is not None and self.chance.random() < 0.5:
            target, kept = table.tags.get(tag).snapshot.id, self.tagged[branch, tag]
            rollback_to_tag(table, tag)
        elif ids:
            target = self.chance.choice(ids)
            kept = self.known[branch, target]
            rollback_to_snapshot(table, target)
        else:
            return False
        self.forget(branch, target)
        self.known[branch, target], self.live[branch] = kept, kept.held
        names = self.opened(branch).tags.names()
        self.tagged = {k: v for k, v in self.tagged.items() if k[0] != branch or k[1] in names}
        self.leaves_files = True
        return True

    def clean(self, branch: str) -> None:
        """Remove orphan files, however young: nobody else is at work."""
        main = self.opened(self.chance.choice(self.branches))
        for path in small.on_disk(main):
            os.utime(path, (1_000_000_000, 1_000_000_000))
        yesterday = int(time.time() * 1000) - 86_400_000
        plan = find_orphans(main, Search(yesterday, LocalExecutor(1), self.chance.choice([None, 1, 3])))
        planned = remove_orphans(plan, dry_run=True)
        removed = remove_orphans(plan)
        assert (planned.count, planned.bytes) == (removed.count, removed.bytes)
        if not self.leaves_files:
            assert removed.count == 0, removed.shown
        self.leaves_files = False

    def look_through(self, branch: str) -> None:
        """Nothing is wrong with the metadata, and no live data file is missing."""
        table = self.opened(branch)
        assert repair(table).problems == []
        latest = table.snapshots.latest()
        assert latest is None or find_lost(table, latest, LocalExecutor(1)) == []

    def purge(self, branch: str) -> None:
        with suppress(InvalidInputError):
            purge(self.opened(MAIN_BRANCH))
        latest = self.opened(MAIN_BRANCH).snapshots.latest_id()
        self.branches, self.live, self.tagged = [MAIN_BRANCH], {MAIN_BRANCH: Counter()}, {}
        self.known = {} if latest is None else {(MAIN_BRANCH, latest): State(Counter(), Counter())}


def rows_of(table: Table, snapshot: Snapshot) -> Rows:
    """The rows that a snapshot shows."""
    return Counter(small.rows_at(table, snapshot))


def _append(table: Table, messages: list[CommitMessage]) -> None:
    commits.append(table, [*messages, *compact_due(table, messages, LocalExecutor(1))])


_WEIGHTS = {
    "insert": 24,
    "delete": 8,
    "overwrite": 6,
    "compact": 10,
    "compact_manifests": 3,
    "index": 8,
    "tag": 10,
    "rename_tag": 2,
    "untag": 6,
    "branch": 4,
    "drop_branch": 2,
    "rename_branch": 1,
    "fast_forward": 1,
    "consumer": 3,
    "expire": 14,
    "roll_back": 2,
    "clean": 5,
    "look_through": 2,
    "purge": 0.3,
}
_ACTIONS: dict[str, Callable[[World, str], bool | None]] = {name: getattr(World, name) for name in _WEIGHTS}
CHECKED = frozenset(_WEIGHTS) - {"insert", "delete", "overwrite", "consumer", "tag"}
"""After these everything is checked."""


def play(path: Path, kind: str, seed: int, steps: int) -> Counter[str]:
    """Do so many things to a table of a kind: what was done, how often."""
    world = World.of(path, kind, seed)
    for number in range(steps):
        name = world.step()
        if name in CHECKED or number == steps - 1:
            try:
                world.check()
            except AssertionError as error:
                raise AssertionError(f"{kind}, seed {seed}: after step {number}, {name}: {error}") from error
    return world.done
