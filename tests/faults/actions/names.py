"""Operations on names of snapshots: tags, branches, consumers."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from paimon_sql.storage.branches.management import create_branch, delete_branches, rename_branch
from paimon_sql.storage.maintenance.tags.management import (
    create_tag,
    delete_tags,
    expired_tags,
    rename_tag,
    replace_tag,
)
from paimon_sql.storage.operations.fast_forward import fast_forward
from paimon_sql.storage.table.table import Table
from tests.faults.actions.base import Action
from tests.faults.actions.job import Job
from tests.faults.history import MAIN, Role

_LATER = datetime(2030, 1, 1)
_OWN = re.compile(r"t\d")


def _own(table: Table) -> list[str]:
    """The tags that users have made; others hold what a rollback needs."""
    return [name for name in table.tags.names() if _OWN.fullmatch(name)]


def _branch(job: Job, table: Table) -> str:
    """A branch that there is, if there is one."""
    return job.chance.choice(table.branches.names() or ["b0"])


class Tag(Action):
    """A snapshot gets a name."""

    name, weight = "tag", 8

    def run(self, job: Job) -> None:
        table = job.opened()
        ids = table.snapshots.directory.versions()
        name = f"t{job.chance.randrange(3)}"
        wanted = job.chance.choice(ids) if ids and job.chance.random() < 0.7 else None
        retained = job.chance.choice([None, None, timedelta(days=1)])
        if table.tags.exists(name):
            replace_tag(table, name, wanted, retained)
        else:
            create_tag(table, name, wanted, retained)


class Untag(Action):
    """A tag goes, with the files that only it kept."""

    name, weight = "delete tag", 5

    def run(self, job: Job) -> None:
        table = job.opened()
        names = _own(table)
        if names:
            delete_tags(table, [job.chance.choice(names)])


class ExpireTags(Action):
    """Tags go whose time is over: a day has passed since they were made."""

    name, weight = "expire tags", 1.5

    def run(self, job: Job) -> None:
        table = job.opened()
        # What a rollback holds has a day, too; this one does not stand still for so long.
        delete_tags(table, [t.name for t in expired_tags(table, now=_LATER) if _OWN.fullmatch(t.name)])


class RenameTag(Action):
    """A tag gets another name."""

    name, weight = "rename tag", 1

    def run(self, job: Job) -> None:
        table = job.opened()
        names = _own(table)
        if names:
            rename_tag(table, job.chance.choice(names), f"t{job.chance.randrange(4)}")


class Branch(Action):
    """A branch begins, empty or with a tag or snapshot."""

    name, weight = "branch", 3

    def run(self, job: Job) -> None:
        table = job.opened(MAIN)
        name, how = f"b{job.chance.randrange(2)}", job.chance.choice(["empty", "tag", "snapshot", "snapshot"])
        tags, ids = table.tags.names(), table.snapshots.directory.versions()
        tag = job.chance.choice(tags) if tags and how == "tag" else None
        number = job.chance.choice(ids) if ids and how == "snapshot" else None
        create_branch(table, name, tag=tag, snapshot_id=number)


class DropBranch(Action):
    """A branch goes."""

    name, weight, role = "drop branch", 1, Role.DROP

    def run(self, job: Job) -> None:
        table = job.opened(MAIN)
        delete_branches(table, [_branch(job, table)])


class RenameBranch(Action):
    """A branch gets another name."""

    name, weight = "rename branch", 0.7

    def run(self, job: Job) -> None:
        table = job.opened(MAIN)
        rename_branch(table, _branch(job, table), f"b{job.chance.randrange(4)}")


class FastForward(Action):
    """The table becomes what a branch is."""

    name, weight, role = "fast forward", 1.5, Role.REWIND

    def run(self, job: Job) -> None:
        table = job.opened(MAIN)
        fast_forward(table, _branch(job, table))


class Consume(Action):
    """A consumer says how far it has read, or leaves."""

    name, weight = "consumer", 2

    def run(self, job: Job) -> None:
        table = job.opened()
        ids = table.snapshots.directory.versions()
        if job.chance.random() < 0.5 or not ids:
            table.consumers.remove("c")
        else:
            table.consumers.reset("c", job.chance.choice(ids))
