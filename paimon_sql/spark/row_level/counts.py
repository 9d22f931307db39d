"""Counts of changed rows, and the columns that report them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_sql.format.metadata.snapshot import Operation
from paimon_sql.format.schema.row_kind import RowKind
from paimon_sql.format.schema.system_fields import VALUE_KIND


@dataclass(frozen=True)
class Counts:
    """Numbers of updated, deleted and inserted rows."""

    updated: int = 0
    deleted: int = 0
    inserted: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.updated + other.updated, self.deleted + other.deleted, self.inserted + other.inserted)

    def named(self, operation: Operation) -> dict[str, int]:
        """The counts in the result of a statement, by column name."""
        found = {"num_affected_rows": self.updated + self.deleted + self.inserted}
        if operation is Operation.MERGE:
            found |= {
                "num_updated_rows": self.updated,
                "num_deleted_rows": self.deleted,
                "num_inserted_rows": self.inserted,
            }
        return found


class CountedRows:
    """Batches of changed rows, counted by row kind during iteration."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = batches
        self._kinds = np.zeros(4, dtype=np.int64)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            self._kinds += np.bincount(batch.column(VALUE_KIND.name).to_numpy(), minlength=4)
            yield batch

    @property
    def counts(self) -> Counts:
        """The counts of the rows iterated so far."""
        k = self._kinds
        return Counts(int(k[RowKind.UPDATE_AFTER]), int(k[RowKind.DELETE]), int(k[RowKind.INSERT]))
