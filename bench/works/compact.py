"""Compact the table that was upserted, fully."""

from __future__ import annotations

from functools import partial

from bench.works.base import KEYED_TABLE, WARM_TABLE, Marks, Sample, Stage, Work, seconds


class Compact(Work):
    """A full compaction, by the statement that an engine has for it."""

    def warm_up(self, stage: Stage) -> None:
        stage.fresh(WARM_TABLE, keyed=True)
        stage.engine.write_only(WARM_TABLE)
        for upsert in (0, 1):
            stage.engine.upsert(WARM_TABLE, stage.view(stage.dataset.changes(upsert)))
        stage.engine.compact(WARM_TABLE)
        stage.engine.drop(WARM_TABLE)

    def sample(self, stage: Stage, repetition: int) -> Sample:
        took = seconds(partial(stage.engine.compact, KEYED_TABLE))
        stage.check(KEYED_TABLE, merged=True)
        return Sample(took)


COMPACT = Compact("compact", "full compaction", ("upsert",), base="insert", marks=Marks(0.9, 1.2, 0.9), slices=1)
