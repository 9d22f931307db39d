"""One row in a hundred changed or deleted by a condition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from bench.works.base import WARM_TABLE, Marks, Sample, Stage, Work, seconds

CHANGED_TABLE = "changed_orders"


@dataclass(frozen=True)
class RowChange(Work):
    """A statement on a table for upserts, the rows in it all over the files.

    Attributes:
        statement: with the places ``table`` and ``number``, a number from 0 to 99 that no other sample has.
        first: that of the first sample.
    """

    statement: str = ""
    first: int = 0

    def warm_up(self, stage: Stage) -> None:
        for table, source in ((WARM_TABLE, stage.dataset.changes(0)), (CHANGED_TABLE, stage.dataset.orders)):
            stage.fresh(table, keyed=True)
            stage.engine.insert(table, stage.view(source))
        self._run(stage, WARM_TABLE, self.first)
        stage.engine.drop(WARM_TABLE)

    def sample(self, stage: Stage, repetition: int) -> Sample:
        return Sample(seconds(partial(self._run, stage, CHANGED_TABLE, self.first + repetition)))

    def _run(self, stage: Stage, table: str, number: int) -> None:
        stage.engine.rows(self.statement.format(table=stage.engine.named(table), number=number))


UPDATE = RowChange(
    "update",
    "UPDATE of 1 %",
    base="insert",
    marks=Marks(0.23, 0.21, 0.15),
    statement="UPDATE {table} SET quantity = quantity + 1 WHERE id % 100 = {number}",
)
DELETE = RowChange(
    "delete",
    "DELETE of 1 %",
    base="insert",
    marks=Marks(0.24, 0.09, 0.1),
    statement="DELETE FROM {table} WHERE id % 100 = {number}",
    first=50,
)
