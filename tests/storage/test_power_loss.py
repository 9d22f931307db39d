"""Power fails at any moment of random statements and maintenance: what was acknowledged is there when it is back.

``PAIMON_TEST_EXAMPLES`` says how many runs are made of each test.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import MissingFileError
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.maintenance.orphans.removal import find_orphans, remove_orphans
from paimon_sql.storage.maintenance.snapshots.expiration import expire_changelogs, expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.repair.repair import repair
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.table.table import Table
from tests.storage import core_tables as core
from tests.storage import small_tables as small
from tests.storage.lost_power import ENTRIES, KEPT, LOST, MIXED, WatchedDisk, WatchedFileIO
from tests.storage.maintenance_world import KINDS, Row, Rows, World, rows_of

EXAMPLES = int(os.environ.get("PAIMON_TEST_EXAMPLES", "8"))
STEPS = 12
REWINDS = ("roll_back", "fast_forward", "purge")
"""Steps of many parts: one that was cut off leaves the table between what it was and what it was to become."""


@dataclass
class Held:
    """What a world's table holds: the newest snapshot and all others of each branch, and its tags, by their uuids."""

    newest: dict[str, str | None]
    retained: dict[str, dict[int, str]]
    tags: dict[tuple[str, str], str]

    @classmethod
    def of(cls, world: World) -> Held:
        """What the table holds now."""
        tables = {name: world.opened(name) for name in world.branches}
        retained = {name: _retained(table) for name, table in tables.items()}
        newest = {name: snapshots[max(snapshots)] if snapshots else None for name, snapshots in retained.items()}
        tags = {(b, t.name): str(t.snapshot.uuid) for b, table in tables.items() for t in table.tags.all()}
        return cls(newest, retained, tags)


def _retained(table: Table) -> dict[int, str]:
    earliest = table.snapshots.earliest_id() or 0
    return {s.id: str(s.uuid) for s in table.snapshots.all() if s.id >= earliest}


@dataclass
class PowerLosses:
    """Loses power now and then while a world goes on, and looks at each disk afterwards.

    Args:
        root: an empty directory.
        kind: the kind of the table.
        seed: decides everything.
    """

    root: Path
    kind: str
    seed: int
    looked: int = 0
    shown: dict[str, Rows] = field(default_factory=dict)
    """The rows of each snapshot by its uuid."""

    def run(self, steps: int) -> None:
        """Take so many steps."""
        self.chance = random.Random(self.seed)
        self.images: list[Path] = []
        self.disk = WatchedDisk(self.root / "disk", self.root / "pins")
        with self.disk.watched():
            self.world = World.of(self.root / "disk" / "t", self.kind, self.seed)
            self.world.table = replace(self.world.table, file_io=WatchedFileIO(self.disk))
            self.disk.settle()
            for _ in range(steps):
                self.step()

    def step(self) -> None:
        """Take a step, and look at what a loss of power within or right after it would have left."""
        world = self.world
        before = Held.of(world)
        self.lead = self.chance.choice([0, 2, 5, 9, 15, 25])
        self.disk.moment = self._moment
        name = world.step()
        self.disk.moment = lambda: None
        after = Held.of(world)
        self._learn(after)
        within, self.images = self.images, []
        for image in within:
            self._look(image, name, before, after)
        self._look(self._image(), name, after, after)

    def _learn(self, held: Held) -> None:
        for branch, retained in held.retained.items():
            table = self.world.opened(branch)
            for number, uuid in retained.items():
                if uuid not in self.shown:
                    self.shown[uuid] = rows_of(table, table.snapshots.get(number))

    def _moment(self) -> None:
        self.lead -= 1
        if self.lead == 0:
            self.images.append(self._image())

    def _image(self) -> Path:
        self.looked += 1
        how = self.chance.choice([LOST, KEPT, MIXED, MIXED, ENTRIES])
        return self.disk.image(self.root / f"image-{self.looked}-{how}", how, self.chance)

    def _look(self, image: Path, name: str, before: Held, after: Held) -> None:
        try:
            self.check(image, name, before, after)
        except Exception as error:
            when = "after" if before is after else "during"
            what = f"{self.kind}, seed {self.seed}: power lost {when} {name}, {image.name}"
            raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
        shutil.rmtree(image)

    def check(self, image: Path, name: str, before: Held, after: Held) -> None:
        """What was acknowledged is there, the table goes on, and what is left over is found."""
        table = opened(image / "t")
        rewinds = name in REWINDS and before is not after
        self._check_branches(table, before, after, rewinds=rewinds)
        branches = [b for b in before.newest if b in after.newest]
        for branch in branches:
            self._write(at_branch(table, branch))
        for branch in branches:
            found = repair(at_branch(opened(image / "t"), branch))
            assert not found.problems, found.problems
        self._check_branches(opened(image / "t"), before, after, rewinds=True)
        self._clean(opened(image / "t"), branches, all_changelogs=name == "expire" and before is not after)

    def _check_branches(self, table: Table, before: Held, after: Held, *, rewinds: bool) -> None:
        names = {MAIN_BRANCH, *table.branches.names()}
        stay = {b for b in before.newest if b in after.newest}
        assert stay <= names, f"branches are gone: {stay - names}"
        assert names <= {*before.newest, *after.newest}, f"branches have come back: {names}"
        for branch in sorted(stay):
            self._check_branch(at_branch(table, branch), before, after, rewinds=rewinds)

    def _check_branch(self, table: Table, before: Held, after: Held, *, rewinds: bool) -> None:
        branch, retained = table.branch, _retained(table)
        known = {**before.retained[branch], **after.retained[branch]}
        first, last = min(retained, default=0), max(retained, default=-1)
        assert list(retained) == list(range(first, last + 1)), f"{branch}: there is a gap: {retained}"
        if not rewinds:
            newest = retained[max(retained)] if retained else None
            made = [u for i, u in after.retained[branch].items() if before.retained[branch].get(i) != u]
            expected = [before.newest[branch], after.newest[branch], *made]
            assert newest in expected, f"{branch}: the newest snapshot is {retained}, not {known}"
            lost = [
                number
                for number, uuid in before.retained[branch].items()
                if after.retained[branch].get(number) == uuid and retained.get(number) != uuid
            ]
            assert not lost, f"{branch}: snapshots {lost} are lost of {known}"
        for number, uuid in retained.items():
            shown = rows_of(table, table.snapshots.get(number))
            assert shown == self.shown.get(uuid, shown), f"{branch}: snapshot {number} shows {shown}"
        tags = {(branch, t.name): t.snapshot for t in table.tags.all()}
        for place, uuid in before.tags.items():
            if place[0] == branch and after.tags.get(place) == uuid and not rewinds:
                assert place in tags and str(tags[place].uuid) == uuid, f"tag {place} is lost"
        for place, snapshot in tags.items():
            uuid = str(snapshot.uuid)
            assert rewinds or uuid in (before.tags.get(place), after.tags.get(place)) or "-" in place[1], place
            shown = rows_of(table, snapshot)
            assert shown == self.shown.get(uuid, shown), f"tag {place} shows {shown}"

    def _write(self, table: Table) -> None:
        rows: list[Row] = [(77, "new", "x")]
        latest = table.snapshots.latest()
        core.insert(table, *rows)
        made = core.again(table).snapshots.latest()
        assert made is not None and made.id > (latest.id if latest else 0)
        if "deletion-vectors.enabled" not in table.schema.options:
            was = rows_of(table, latest) if latest else Counter()
            assert rows_of(table, made) == self.world.put(was, rows)

    def _clean(self, main: Table, branches: list[str], *, all_changelogs: bool) -> None:
        """Whatever is left over is found; an expiry of changelogs that was cut off is gone on with by the next one."""
        many = 10**6
        for branch in branches:
            expire_snapshots(at_branch(main, branch), Retention(many, many, 0, many))
            if all_changelogs:
                expire_changelogs(at_branch(main, branch), Retention(1, 1, 2**62, many), everything=True)
        for folder, _, names in os.walk(main.path):
            for name in names:
                os.utime(Path(folder, name), (1_000_000_000, 1_000_000_000))
        yesterday = int(time.time() * 1000) - 86_400_000
        remove_orphans(find_orphans(opened(Path(main.path)), Search(yesterday, LocalExecutor(1))))
        main = opened(Path(main.path))
        needed, there = small.reachable(main), small.on_disk(main)
        assert needed <= there, f"missing: {sorted(needed - there)}"
        left = {p for p in there - needed - _kept_by_changelogs(main) if not Path(p).name.startswith(".branch")}
        assert not left, f"left over: {sorted(left)}"


def opened(path: Path) -> Table:
    """The table as a new process opens it."""
    file_io = LocalFileIO()
    schema = SchemaManager(file_io, str(path)).latest()
    assert schema is not None
    return Table("db.t", str(path), file_io, schema)


def at_branch(table: Table, name: str) -> Table:
    """A branch of a table as a new process opens it."""
    return replace(table) if name == MAIN_BRANCH else branch_of(table, name)


def _kept_by_changelogs(main: Table) -> set[str]:
    """The files of commits whose changelogs are empty, which may stay as long as the changelogs do, or some of them."""
    found: set[str] = set()
    plain = replace(main, schema=replace(main.schema, options={}))
    for branch in (plain, *(replace(plain, branch=name) for name in main.branches.names())):
        for changelog in branch.changelogs.all():
            for name in (changelog.base_manifest_list, changelog.delta_manifest_list):
                found.add(main.paths.manifest(name))
                with suppress(MissingFileError):
                    own = replace(changelog, changelog_manifest_list=name)
                    found |= small.changelog_files(plain, own)
    return found


@pytest.mark.parametrize("place", ["t/p=1/bucket-0", "elsewhere/p=1/bucket-0"])
def test_a_file_that_was_flushed_is_there_with_the_directories_that_were_made_for_it(
    tmp_path: Path, place: str
) -> None:
    disk = WatchedDisk(tmp_path / "disk", tmp_path / "pins")
    (disk.root / "t").mkdir()
    disk.settle()
    with disk.watched():
        file_io, path = WatchedFileIO(disk), f"{disk.root}/{place}/data"
        with file_io.open_output(path) as stream:
            stream.write(b"rows")
        file_io.sync([path], f"{disk.root}/t")
        image = disk.image(tmp_path / "image", LOST, random.Random(0))
    assert (image / place / "data").read_bytes() == b"rows"


def test_a_loss_of_power_within_a_rollback_leaves_a_table_that_can_be_read(tmp_path: Path) -> None:
    disk = WatchedDisk(tmp_path / "disk", tmp_path / "pins")
    chance, images = random.Random(0), list[Path]()

    def moment() -> None:
        for how in (LOST, MIXED):
            images.append(disk.image(tmp_path / f"image{len(images)}", how, chance))

    with disk.watched():
        table = core.make_table(disk.root / "t")
        for key in (1, 2, 3):
            core.insert(table, (key, "v", "x"))
        disk.settle()
        table = replace(table, file_io=WatchedFileIO(disk))
        disk.moment = moment
        rollback_to_snapshot(table, 2)
        rollback_to_snapshot(table, 1)
    found = [
        tuple(sorted(row[0] for row in core.rows(replace(table, path=str(image / "t"), file_io=LocalFileIO()))))
        for image in images
    ]
    assert set(found) == {(1, 2, 3), (1, 2), (1,)}


@given(st.sampled_from(list(KINDS)), st.integers(0, 2**32))
@settings(max_examples=EXAMPLES, derandomize=True, database=None)
def test_what_was_acknowledged_survives_a_loss_of_power(kind: str, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        PowerLosses(Path(folder), kind, seed).run(STEPS)
