"""Works that are one query."""

from __future__ import annotations

import time
from dataclasses import dataclass

from bench.works.base import APPEND_TABLE, Sample, Stage, Work


@dataclass(frozen=True)
class Query(Work):
    """A query whose few rows are fetched; ``{table}`` stands for the table.

    Attributes:
        table: the table that it asks.
        text: the query.
    """

    table: str = APPEND_TABLE
    text: str = ""

    def statement(self, stage: Stage, repetition: int) -> str:
        """The query of a repetition."""
        return self.text.format(table=stage.engine.named(self.table))

    def warm_up(self, stage: Stage) -> None:
        self.sample(stage, -1)

    def sample(self, stage: Stage, repetition: int) -> Sample:
        statement = self.statement(stage, repetition)
        started = time.perf_counter()
        rows = stage.engine.rows(statement)
        took = time.perf_counter() - started
        return Sample(took, str([tuple(row) for row in rows]))
