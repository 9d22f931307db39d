"""Read a table whole."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from bench.works.base import APPEND_TABLE, KEYED_TABLE, Marks, Sample, Stage, Work, seconds


@dataclass(frozen=True)
class Scan(Work):
    """Every column of every row, into Spark's sink that drops them.

    Attributes:
        table: the table that is read.
    """

    table: str = APPEND_TABLE

    def warm_up(self, stage: Stage) -> None:
        stage.engine.scan(self.table)

    def sample(self, stage: Stage, repetition: int) -> Sample:
        return Sample(seconds(partial(stage.engine.scan, self.table)))


SCAN = Scan("scan", "append: full scan", ("insert",), marks=Marks(1.9, 1.3, 1.0))
MERGED_SCAN = Scan(
    "merged-scan", "merge on read: full scan", ("upsert",), base="scan", marks=Marks(3.8, 2.1, 1.3), table=KEYED_TABLE
)
COMPACTED_SCAN = Scan(
    "compacted-scan",
    "compacted: full scan",
    ("compact",),
    base="scan",
    marks=Marks(2.2, 1.3, 1.0),
    table=KEYED_TABLE,
)
