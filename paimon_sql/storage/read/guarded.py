"""Reads of tables of which rights say what is shown: whole rows are read, and what is not shown leaves no worker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.errors import NotAllowedError
from paimon_sql.storage.metadata.environment.query_auth import Rights
from paimon_sql.storage.read.query_auth import looked_at, shown
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class GuardedTask:
    """Reads a split as far as it is shown.

    Attributes:
        table: the table.
        split: the split.
        columns: the columns that are wanted.
        rights: what is shown.
    """

    table: Table
    split: Split
    columns: tuple[str, ...]
    rights: Rights

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in no particular order."""
        columns = tuple(dict.fromkeys([*self.columns, *sorted(looked_at(self.rights, self.columns))]))
        for batch in ReadTask(self.table, self.split, columns).batches():
            yield shown(self.rights, batch).select(list(self.columns))


def check_rights(table: Table, rights: Rights) -> None:
    """Nothing if the table has the columns that rights look at.

    Raises:
        NotAllowedError: it has not, so that nobody can tell what is to be shown.
    """
    missing = looked_at(rights, table.schema.names) - set(table.schema.names)
    if missing:
        names = ", ".join(sorted(missing))
        raise NotAllowedError(
            f"{table.name}: Unable to read data without column {names}, by which the catalog's server tells rights."
        )
