"""Random statements on a table and its branches: whatever is kept can be read in full, by a plain model of the rows."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.storage.branches.management import create_branch, delete_branches, rename_branch
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags
from paimon_sql.storage.operations.fast_forward import fast_forward
from paimon_sql.storage.retention.policy import Limits, retention_of
from paimon_sql.storage.table.table import Table
from tests.storage.small_tables import fresh, insert, make_table, on_disk, overwrite, reachable, rows_at

Rows = list[int]
VERBS = ("insert", "insert", "overwrite", "tag", "untag", "branch", "drop", "rename", "forward", "expire", "rollback")
STEPS = st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 5), st.integers(0, 5)), min_size=4, max_size=22)


class Model:
    """The table, and what each snapshot and tag of each branch must hold."""

    def __init__(self, path: Path) -> None:
        self.table = make_table(path, {"snapshot.num-retained.max": "50"})
        self.snapshots: dict[str, dict[int, Rows]] = {"main": {}}
        self.tags: dict[str, dict[str, tuple[int, Rows]]] = {"main": {}}
        self.count = 0

    def open(self, name: str) -> Table:
        return branch_of(fresh(self.table), name)

    def step(self, verb: str, one: int, two: int) -> None:
        """Do one thing, on the branch of number ``one`` among those there are."""
        self.count += 1
        name = sorted(self.snapshots)[one % len(self.snapshots)]
        snapshots, tags = self.snapshots[name], self.tags[name]
        others = sorted(set(self.snapshots) - {"main", name})
        newest = snapshots[max(snapshots)] if snapshots else []
        if verb == "insert":
            snapshots[insert(self.open(name), (self.count, "v", "x")).id] = [*newest, self.count]
        elif verb == "overwrite":
            snapshots[overwrite(self.open(name), (self.count, "v", "x")).id] = [self.count]
        elif verb == "tag" and snapshots:
            number = sorted(snapshots)[two % len(snapshots)]
            create_tag(self.open(name), f"t{self.count}", number)
            tags[f"t{self.count}"] = (number, snapshots[number])
        elif verb == "untag" and tags:
            gone = sorted(tags)[two % len(tags)]
            delete_tags(self.open(name), [gone])
            del tags[gone]
        elif verb == "branch" and len(self.snapshots) < 4:
            self._branch(name, f"b{self.count}", two)
        elif verb == "drop" and name != "main":
            delete_branches(self.open("main"), [name])
            del self.snapshots[name], self.tags[name]
        elif verb == "rename" and name != "main":
            rename_branch(self.open("main"), name, f"b{self.count}")
            self.snapshots[f"b{self.count}"], self.tags[f"b{self.count}"] = snapshots, tags
            del self.snapshots[name], self.tags[name]
        elif verb == "forward" and others and self.snapshots[others[two % len(others)]]:
            self._forward(name, others[two % len(others)])
        elif verb == "expire" and snapshots:
            kept = 1 + two % 3
            now = int(time.time() * 1000)
            table = self.open(name)
            expire_snapshots(table, retention_of(table.options, now, Limits(retain_max=kept, retain_min=kept)))
            self.snapshots[name] = {i: rows for i, rows in snapshots.items() if i > max(snapshots) - kept}
        elif verb == "rollback" and snapshots:
            number = sorted(snapshots)[two % len(snapshots)]
            rollback_to_snapshot(self.open(name), number)
            self.snapshots[name] = {i: rows for i, rows in snapshots.items() if i <= number}
            self.tags[name] = {n: tag for n, tag in tags.items() if tag[0] <= number}

    def _branch(self, name: str, new: str, two: int) -> None:
        tags = self.tags[name]
        if tags and two % 2:
            tag = sorted(tags)[two % len(tags)]
            create_branch(self.open(name), new, tag=tag)
            self.snapshots[new], self.tags[new] = {tags[tag][0]: tags[tag][1]}, {tag: tags[tag]}
        else:
            create_branch(self.open(name), new)
            self.snapshots[new], self.tags[new] = {}, {}

    def _forward(self, name: str, other: str) -> None:
        done = fast_forward(self.open(name), other)
        mine = {i: rows for i, rows in self.snapshots[name].items() if i in done.kept}
        theirs = self.snapshots[other]
        self.snapshots[name] = {**mine, **{i: rows for i, rows in theirs.items() if i > max(mine, default=0)}}
        left = {n: tag for n, tag in self.tags[name].items() if n not in done.dropped_tags}
        self.tags[name] = {**left, **self.tags[other]}

    def check(self) -> None:
        """Everything that must be there is, and holds its rows."""
        assert set(self.snapshots) == {"main", *fresh(self.table).branches.names()}
        for name, snapshots in self.snapshots.items():
            table = self.open(name)
            earliest = table.snapshots.earliest_id() or 0
            assert {s.id for s in table.snapshots.all() if s.id >= earliest} == set(snapshots), name
            for snapshot in table.snapshots.all():
                if snapshot.id in snapshots:
                    assert [r[0] for r in rows_at(table, snapshot)] == sorted(snapshots[snapshot.id])
            assert {t.name: t.snapshot.id for t in table.tags.all()} == {n: i for n, (i, _) in self.tags[name].items()}
            for tag in table.tags.all():
                assert [r[0] for r in rows_at(table, tag.snapshot)] == sorted(self.tags[name][tag.name][1])
        assert reachable(replace(fresh(self.table))) <= on_disk(self.table)


@settings(max_examples=60)
@given(STEPS)
def test_all_that_is_kept_can_be_read(steps: list[tuple[str, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = Model(Path(folder) / "t")
        for verb, one, two in steps:
            model.step(verb, one, two)
        model.check()
