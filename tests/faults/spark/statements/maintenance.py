"""Procedures: compaction, expiry, tags, rollback, orphan removal."""

from __future__ import annotations

from tests.faults.history import Role
from tests.faults.spark.statements.base import TABLE, SparkJob, Statement


class Compact(Statement):
    """Files are compacted."""

    name, weight, role = "spark compact", 8, Role.WRITE

    def run(self, job: SparkJob) -> None:
        how = job.chance.choice(["", ", compact_strategy => 'full'"])
        job.sql(f"CALL sys.compact(table => '{TABLE}'{how})")


class Expire(Statement):
    """Old snapshots go."""

    name, weight, role = "spark expire", 8, Role.EXPIRE

    def run(self, job: SparkJob) -> None:
        keep = job.chance.choice([1, 2, 3])
        job.sql(f"CALL sys.expire_snapshots(table => '{TABLE}', retain_max => {keep}, retain_min => {keep})")


class Tag(Statement):
    """A snapshot gets a name, or loses it."""

    name, weight = "spark tag", 6

    def run(self, job: SparkJob) -> None:
        name = f"t{job.chance.randrange(3)}"
        if job.opened().tags.exists(name):
            job.sql(f"CALL sys.delete_tag(table => '{TABLE}', tag => '{name}')")
        else:
            job.sql(f"CALL sys.create_tag(table => '{TABLE}', tag => '{name}')")


class RollBack(Statement):
    """The table goes back to an earlier snapshot or to a tag."""

    name, weight, role = "spark roll back", 3, Role.REWIND

    def run(self, job: SparkJob) -> None:
        table = job.opened()
        ids, tags = table.snapshots.directory.versions(), table.tags.names()
        wanted = [*map(str, ids[-4:]), *(tag for tag in tags if tag.startswith("t"))]
        if wanted:
            job.sql(f"CALL sys.rollback(table => '{TABLE}', version => '{job.chance.choice(wanted)}')")


class RemoveOrphans(Statement):
    """Files that nothing names go, if they are older than a day; no file of this round is."""

    name, weight = "spark remove orphans", 2

    def run(self, job: SparkJob) -> None:
        job.sql(f"CALL sys.remove_orphan_files(table => '{TABLE}')")


class ChangeOptions(Statement):
    """The table's definition gets another version."""

    name, weight = "spark alter", 2

    def run(self, job: SparkJob) -> None:
        number = job.chance.randrange(20, 60)
        job.sql(f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('commit.max-retries' = '{number}')")
