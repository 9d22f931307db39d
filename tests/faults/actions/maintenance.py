"""Maintenance: expiry, rollback, orphan removal, statistics, copies, purge."""

from __future__ import annotations

import shutil

from paimon_sql.format.statistics.table_statistics import TableStatistics
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.copy.copy import copy_files, plan_copy, schemas_of_copy
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.maintenance.orphans.removal import find_orphans, remove_orphans
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot, rollback_to_tag
from paimon_sql.storage.operations import operations
from paimon_sql.storage.operations.purge import purge
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.table.table import Table
from tests.faults.actions.base import Action
from tests.faults.actions.job import ONE, Job, Read
from tests.faults.history import MAIN, Role
from tests.faults.model import Effect
from tests.faults.reading import read_rows

_DAY = 86_400_000


class Expire(Action):
    """Old snapshots go."""

    name, weight, role = "expire", 12, Role.EXPIRE

    def run(self, job: Job) -> None:
        keep = job.chance.choice([1, 1, 2, 3])
        expire_snapshots(job.opened(), Retention(keep, keep, 2**62, job.chance.choice([1, 5, 100])))


class RollBack(Action):
    """The table goes back to an earlier snapshot or to a tag."""

    name, weight, role = "roll back", 4, Role.REWIND

    def run(self, job: Job) -> None:
        table = job.opened()
        tags, ids = table.tags.names(), table.snapshots.directory.versions()
        if tags and job.chance.random() < 0.4:
            rollback_to_tag(table, job.chance.choice(tags))
        elif ids:
            rollback_to_snapshot(table, job.chance.choice(ids))


class RemoveOrphans(Action):
    """Files that nothing names go, if they are older than a day; no file of this round is."""

    name, weight = "remove orphans", 2

    def run(self, job: Job) -> None:
        remove_orphans(find_orphans(job.opened(MAIN), Search(current_millis() - _DAY, ONE)))


class Analyze(Action):
    """Statistics are made of the newest snapshot."""

    name, weight, role = "analyze", 1.5, Role.WRITE

    def run(self, job: Job) -> None:
        table = job.opened()
        latest = table.snapshots.latest()
        if latest is not None:
            with job.transaction(table) as transaction:
                operations.set_statistics(transaction, TableStatistics(latest.id, latest.schema_id, 1, 1))


class Copy(Action):
    """The table is copied as its files stand; the copy shows what the snapshot showed."""

    name, weight = "copy", 1.5

    def run(self, job: Job) -> None:
        path = job.path.parent / f"copy-{job.operation.token}"
        try:
            plan = plan_copy(job.opened())
            versions = schemas_of_copy(plan)
            target = Table("db.copy", str(path), job.file_io, versions[-1], lock=job.lock)
            for version in versions:
                target.schemas.try_add(version)
            made = copy_files(plan, target, ONE)
            if made is not None and plan.snapshot is not None:
                job.reads.append(Read(str(plan.snapshot.uuid), read_rows(target, made)))
        finally:
            shutil.rmtree(path, ignore_errors=True)


class Purge(Action):
    """The table is emptied and forgets its history."""

    name, weight, role = "purge", 0.7, Role.REWIND

    def run(self, job: Job) -> None:
        job.intend(Effect("overwrite"))
        purge(job.opened(MAIN))
