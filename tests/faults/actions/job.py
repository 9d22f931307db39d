"""One operation of a party: its table, its rows, its transaction."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from paimon_sql.errors import NotFoundError
from paimon_sql.format.schema.arrow_types import arrow_field, arrow_schema
from paimon_sql.format.schema.system_fields import VALUE_KIND
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.compact.compaction import compact_due
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.metadata.catalog_environment import UNLOCKED, TableLock
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.staging.commit_messages import CommitMessage, StagedFiles
from paimon_sql.storage.staging.proposal import Overwrite
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from paimon_sql.storage.write.task import WriteTask
from tests.faults.history import MAIN, History, Operation
from tests.faults.model import Effect, Row
from tests.faults.tables import TableKind

ONE = LocalExecutor(1)
KEYS = 5


@dataclass
class Read:
    """Rows that an operation has read of a snapshot."""

    uuid: str
    rows: list[Row]


@dataclass
class Job:
    """One operation being carried out.

    Attributes:
        kind: the kind of the table.
        path: where it stands.
        file_io: the file system, as the party's process sees it.
        chance: decides what is left open.
        operation: what the oracle knows of it.
        history: the oracle.
        number: the number of the operation among all of its party.
        parties: how many parties there are.
        party: which of them this is, from 0 on.
        options: options of the table beyond those of its kind.
        lock: what keeps other writers away, where files cannot be created exclusively.
        shared: what parties of one application share: the next epoch of each stream, the files to be loaded.
    """

    kind: TableKind
    path: Path
    file_io: FileIO
    chance: random.Random
    operation: Operation
    history: History
    number: int
    party: int
    parties: int
    options: Mapping[str, str]
    lock: TableLock = UNLOCKED
    shared: dict[str, Any] = field(default_factory=dict)
    reads: list[Read] = field(default_factory=list)

    def opened(self, branch: str | None = None) -> Table:
        """The table or a branch as a new statement opens it."""
        schema = SchemaManager(self.file_io, str(self.path), self.lock).latest()
        if schema is None:
            raise NotFoundError("db.t does not exist.", name="db.t")
        # The table is the one that is opened here, and not that which was there when the operation began.
        self.operation.identity = str(schema.time_millis) if schema.id == 0 else self.history.identity()
        table = Table("db.t", str(self.path), self.file_io, schema, lock=self.lock)
        branch = self.operation.branch if branch is None else branch
        return table if branch == MAIN else branch_of(table, branch)

    def intend(self, effect: Effect) -> None:
        """Say what is to happen to rows, before anything does."""
        self.operation.effect = effect

    def rows(self, *, nulls: bool = False) -> tuple[Row, ...]:
        """New rows, of different keys."""
        count = self.chance.randint(1, 3)
        if not self.kind.keys:
            ids = [(self.party * 1000 + self.number) * 10 + i for i in range(count)]
        else:
            ids = self.chance.sample(range(KEYS), count)
            if self.kind.alone:
                ids = [i * self.parties + self.party for i in ids]
        return tuple(self._row(i, nulls) for i in ids)

    def _row(self, number: int, nulls: bool) -> Row:
        v: str | None = f"{self.operation.token}-{number}"
        n: int | None = self.chance.randrange(1, 100)
        if nulls and self.chance.random() < 0.3:
            v = None
        elif nulls and self.chance.random() < 0.3:
            n = None
        return Row(number, v, n, self.chance.choice("xy"))

    def transaction(self, table: Table, **arguments: Any) -> Transaction:
        """A transaction whose snapshots bear the operation's name."""
        return Transaction(table, user=self.operation.token, **arguments)


def batch_of(table: Table, rows: Sequence[Row], kind: int | None = None) -> pa.RecordBatch:
    """Rows as a table's columns; their kind behind them if one is given."""
    schema = arrow_schema(table.schema.fields)
    arrays = [pa.array([getattr(row, f.name, None) for row in rows], f.type) for f in schema]
    if kind is not None:
        schema = schema.append(arrow_field(VALUE_KIND))
        arrays.append(pa.array([kind] * len(rows), pa.int8()))
    return pa.RecordBatch.from_arrays(arrays, names=schema.names)


def write(
    table: Table, rows: Sequence[Row], kind: int | None = None, overwrite: Overwrite | None = None
) -> tuple[list[CommitMessage], WriteTask]:
    """Write rows into files that nobody sees yet, with the compactions that become due; the messages, and the task."""
    task = plan_write(table, overwrite)
    with StagedFiles(table) as staged:
        written = staged.own(task.run([batch_of(table, rows, kind)]))
        messages = staged.own(task.finalize(written, ONE))
        messages += staged.own(compact_due(table, messages, ONE, overwrite))
        staged.release_all()
    return messages, task
