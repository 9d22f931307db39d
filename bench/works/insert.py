"""Load the whole input by one INSERT, into a new table each time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from bench.works.base import APPEND_TABLE, KEYED_TABLE, WARM_TABLE, Marks, Sample, Stage, Work, seconds


@dataclass(frozen=True)
class Insert(Work):
    """A bulk insert.

    Attributes:
        table: the table that is made and filled.
        keyed: whether it is one for upserts.
    """

    table: str = APPEND_TABLE
    keyed: bool = False

    def warm_up(self, stage: Stage) -> None:
        stage.fresh(WARM_TABLE, keyed=self.keyed)
        stage.engine.insert(WARM_TABLE, stage.view(stage.dataset.changes(0)))
        stage.engine.drop(WARM_TABLE)

    def sample(self, stage: Stage, repetition: int) -> Sample:
        stage.fresh(self.table, keyed=self.keyed)
        source = stage.view(stage.dataset.orders)
        took = seconds(partial(stage.engine.insert, self.table, source))
        stage.check(self.table)
        return Sample(took)


INSERT = Insert("insert", "append: bulk insert", marks=Marks(1.1, 0.87, 1.05))
LOAD = Insert(
    "load", "primary key: bulk load", base="insert", marks=Marks(2.6, 0.53, 1.2), table=KEYED_TABLE, keyed=True
)
