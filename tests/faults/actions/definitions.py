"""Operations on definitions: columns, tables that are replaced, dropped and made anew, or renamed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.schema.types import IntType
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.metadata.catalog_environment import UNLOCKED, TableLock
from paimon_sql.storage.operations.replace_table import replace_table, replacement
from paimon_sql.storage.schema.changes.alter_columns import AddColumn, DropColumn, RenameColumn
from paimon_sql.storage.schema.changes.base import SchemaChange, apply_changes
from paimon_sql.storage.staging.proposal import Overwrite
from tests.faults.actions.base import Action
from tests.faults.actions.job import Job, write
from tests.faults.history import MAIN, Role
from tests.faults.model import Effect

TABLE = Identifier("db", "t")
OTHER = Identifier("db", "u")


class RoundCatalog(FileSystemCatalog):
    """The catalog that the table is in; it takes the table's lock where the store of the round needs one."""

    def __init__(self, job: Job) -> None:
        super().__init__("c", {"warehouse": str(job.path.parent.parent)})
        self.file_io = job.file_io
        self._of_table = job.lock

    def _lock(self, identifier: Identifier) -> TableLock:
        return self._of_table if identifier == TABLE else UNLOCKED


def catalog_of(job: Job) -> FileSystemCatalog:
    """The catalog that the table is in."""
    return RoundCatalog(job)


class ChangeColumns(Action):
    """A column that holds nothing comes, goes or gets another name."""

    name, weight = "change columns", 2

    def run(self, job: Job) -> None:
        table = job.opened()
        spare = [n for n in table.schema.names if n.startswith("c")]
        change: SchemaChange
        how = job.chance.choice(["add", "drop", "rename"]) if spare else "add"
        if how == "drop":
            change = DropColumn((spare[0],))
        elif how == "rename":
            change = RenameColumn((spare[0],), f"c{job.party}_{job.number}")
        else:
            change = AddColumn((f"c{job.party}_{job.number}",), IntType())
        table.schemas.evolve(lambda schema: apply_changes(schema, [change], has_data=True))


class ReplaceTable(Action):
    """The table gets a new definition and new rows, as REPLACE TABLE AS SELECT does."""

    name, weight, role = "replace table", 1.5, Role.WRITE

    def run(self, job: Job) -> None:
        rows = job.rows()
        job.intend(Effect("overwrite", rows))
        old = job.opened(MAIN)
        new = job.kind.schema(current_millis(), job.options)
        table = replace(old, schema=replacement(old, new))
        messages, task = write(table, rows, overwrite=Overwrite())
        with job.transaction(table) as transaction:
            transaction.require(*task.validations(messages))
            replace_table(transaction, old, messages)


class Recreate(Action):
    """The table is dropped, and another one of its name made."""

    name, weight, role = "drop and create", 1.2, Role.DROP

    def run(self, job: Job) -> None:
        catalog = catalog_of(job)
        if catalog.table_exists(TABLE):
            catalog.drop_table(TABLE)
        elif catalog.table_exists(OTHER):
            return  # it has that name for a while
        with _at_work(job, "creations", "renamings") as is_alone:
            if is_alone:
                catalog.create_table(TABLE, job.kind.schema(current_millis(), job.options))


class RenameTable(Action):
    """The table gets another name, and its own again."""

    name, weight = "rename table", 0.8

    def run(self, job: Job) -> None:
        catalog = catalog_of(job)
        with _at_work(job, "renamings", "creations") as is_alone:
            if not is_alone:
                return
            if catalog.table_exists(TABLE):
                catalog.rename_table(TABLE, OTHER)
            catalog.rename_table(OTHER, TABLE)


class AtWork:
    """Counts who is at what in one process; another place for the counts is a subclass."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def enter(self, what: str) -> Mapping[str, int]:
        """Somebody begins; how many are at what now."""
        self._counts[what] += 1
        return self._counts

    def leave(self, what: str) -> None:
        """Somebody ends."""
        self._counts[what] -= 1


@contextmanager
def _at_work(job: Job, what: str, other: str) -> Iterator[bool]:
    """Count those that are at it, and say whether nobody is at the other: both together would leave two tables."""
    work: AtWork = job.shared.setdefault("at work", AtWork())
    counts = work.enter(what)
    try:
        yield not counts[other]
    finally:
        work.leave(what)
