"""Random histories: whatever was done, what is retained reads the same, and no file is left over or missing."""

from __future__ import annotations

import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_sql.errors import AlreadyExistsError
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot, rollback_to_tag
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags, replace_tag
from paimon_sql.storage.retention.policy import Limits, retention_of
from paimon_sql.storage.table.table import Table
from tests.storage.small_tables import (
    Row,
    add_branch,
    compact,
    fresh,
    insert,
    make_table,
    on_disk,
    overwrite,
    reachable,
    rows_at,
)

NUMBER = st.integers(0, 7)
REMOVALS = {"expire", "untag", "replace_tag", "rollback", "rollback_to_tag"}
WRITES = ["insert", "insert", "overwrite", "overwrite_some", "compact"]
OPS = [*WRITES, "tag", "replace_tag", "untag", "expire", "expire", "consumer", "forget", "branch", "switch"]
QUICK = settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@dataclass
class World:
    """A table with branches, and what its snapshots and tags held when they were made."""

    branches: list[Table]
    keyed: bool
    rows: dict[tuple[str, int], list[Row]] = field(default_factory=dict)
    at: int = 0
    counter: int = 0
    orphans: bool = False

    @property
    def table(self) -> Table:
        return fresh(self.branches[self.at % len(self.branches)])

    def note(self) -> None:
        table = self.table
        for snapshot in table.snapshots.all():
            self.rows.setdefault((table.branch, snapshot.id), rows_at(table, snapshot))

    def new_row(self, number: int) -> Row:
        self.counter += 1
        return (number if self.keyed else self.counter, f"v{self.counter}", "xyz"[number % 3])

    def apply(self, op: str, number: int) -> None:
        table = self.table
        ids = [s.id for s in table.snapshots.all()]
        some_id = ids[number % len(ids)] if ids else None
        tags = table.tags.names()
        some_tag = tags[number % len(tags)] if tags else None
        match op:
            case "insert":
                insert(table, self.new_row(number))
            case "overwrite":
                overwrite(table, self.new_row(number))
            case "overwrite_some":
                overwrite(table, self.new_row(number), dynamic=True)
            case "compact" if self.keyed:
                compact(table)
            case "tag" if some_id:
                with suppress(AlreadyExistsError):
                    create_tag(table, f"t{number % 4}", some_id)
            case "replace_tag" if some_id and some_tag:
                replace_tag(table, some_tag, some_id)
            case "untag" if some_tag:
                delete_tags(table, [some_tag])
            case "expire":
                now = int(time.time() * 1000) + 1000
                keep = 1 + number % 3
                expire_snapshots(table, retention_of(table.options, now, Limits(retain_min=keep, retain_max=keep)))
            case "consumer" if some_id:
                table.consumers.reset(f"c{number % 2}", some_id)
            case "forget":
                table.consumers.remove(f"c{number % 2}")
            case "branch" if some_tag and len(self.branches) < 3:
                name = f"b{len(self.branches)}"
                self.branches.append(add_branch(table, name, some_tag))
                kept = table.tags.get(some_tag).snapshot
                self.rows[(name, kept.id)] = self.rows[(table.branch, kept.id)]
            case "switch":
                self.at = number
            case "rollback" if some_id:
                rollback_to_snapshot(table, some_id)
                self.forget_later(table.branch, some_id)
            case "rollback_to_tag" if some_tag:
                target = table.tags.get(some_tag).snapshot.id
                rollback_to_tag(table, some_tag)
                self.forget_later(table.branch, target)

    def forget_later(self, branch: str, snapshot_id: int) -> None:
        self.orphans = True
        self.rows = {k: v for k, v in self.rows.items() if k[0] != branch or k[1] <= snapshot_id}

    def check(self) -> None:
        for branch in self.branches:
            table = fresh(branch)
            earliest, latest = table.snapshots.earliest_id(), table.snapshots.latest_id()
            for snapshot in table.snapshots.all():
                assert rows_at(table, snapshot) == self.rows[(table.branch, snapshot.id)]
            for tag in table.tags.all():
                assert rows_at(table, tag.snapshot) == self.rows[(table.branch, tag.snapshot.id)]
            if earliest is not None and latest is not None:
                assert table.snapshots.exists(earliest)
                assert table.snapshots.exists(latest)
        needed, there = reachable(self.branches[0]), on_disk(self.branches[0])
        assert needed <= there
        if not self.orphans:
            assert there == needed


def play(path: Path, steps: list[tuple[str, int]], keyed: bool, partitioned: bool) -> int:
    """Do the steps and check after those that remove something; how many states of the table were known at the end."""
    keys = ("id", "p") if partitioned else ("id",)
    table = make_table(path / "t", primary_keys=keys if keyed else (), partition_keys=("p",) if partitioned else ())
    world = World([table], keyed)
    for op, number in steps:
        world.apply(op, number)
        if op in WRITES:
            world.note()
        if op in REMOVALS:
            world.check()
    world.check()
    return len(world.rows)


@pytest.mark.parametrize(("keyed", "partitioned"), [(False, False), (True, False), (True, True)])
@QUICK
@given(st.data())
def test_no_file_is_left_over_or_missing_after_any_history(keyed: bool, partitioned: bool, data: st.DataObject) -> None:
    steps = data.draw(st.lists(st.tuples(st.sampled_from(OPS), NUMBER), min_size=4, max_size=16))
    with tempfile.TemporaryDirectory() as folder:
        assert play(Path(folder), [("insert", 1), ("insert", 2), ("tag", 1), *steps], keyed, partitioned) >= 2


@QUICK
@given(st.lists(st.tuples(st.sampled_from([*OPS, "rollback", "rollback_to_tag"]), NUMBER), min_size=4, max_size=14))
def test_nothing_needed_is_missing_after_rollbacks_either(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert play(Path(folder), [("insert", 1), ("overwrite", 2), ("tag", 1), *steps], False, False) >= 1
