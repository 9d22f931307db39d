"""Java reads every snapshot, tag and branch that random maintenance of ours has left."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from paimon_sql.format.layout.paths import MAIN_BRANCH
from tests.storage.maintenance_world import CHECKED, KINDS, Rows, World

from .java import JavaPaimon

STEPS = 40
REFUSED = ("evolving_vectors",)
"""Tables that Java 1.4.2 refuses to open, for it knows no deletion vectors of tables with data evolution yet."""


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in REFUSED])
def test_java_reads_all_that_is_retained(kind: str, java: JavaPaimon, tmp_path: Path) -> None:
    world = World.of(tmp_path / "default.db" / kind, kind, seed=21)
    for _ in range(STEPS):
        if world.step() in CHECKED:
            world.check()
    name, looked = f"default.{kind}", 0

    def read(*options: str) -> Rows:
        return Counter(tuple(row) for row in java.read(tmp_path, name, *options))

    for branch in world.branches:
        table = world.opened(branch)
        at = () if branch == MAIN_BRANCH else ("--branch", branch)
        for snapshot in table.snapshots.all():
            assert read(*at, "--snapshot", str(snapshot.id)) == world.known[branch, snapshot.id].shown, snapshot.id
            looked += 1
        for tag in table.tags.names() if branch == MAIN_BRANCH else ():  # Java's helper takes a branch or a tag
            assert read(*at, "--tag", tag) == world.tagged[branch, tag].shown, tag
            looked += 1
    assert looked > 0
