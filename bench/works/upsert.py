"""Ten upserts of 5 % of the rows each, without compaction in between."""

from __future__ import annotations

from functools import partial

from bench.dataset import UPSERTS
from bench.works.base import KEYED_TABLE, WARM_TABLE, Marks, Sample, Stage, Work, seconds


class Upsert(Work):
    """Upserts of keys that exist, so that the table keeps its number of rows."""

    def warm_up(self, stage: Stage) -> None:
        stage.fresh(WARM_TABLE, keyed=True)
        stage.engine.write_only(WARM_TABLE)
        for upsert in (0, 1):
            stage.engine.upsert(WARM_TABLE, stage.view(stage.dataset.changes(upsert)))
        stage.engine.drop(WARM_TABLE)

    def sample(self, stage: Stage, repetition: int) -> Sample:
        if repetition == 0:
            stage.engine.write_only(KEYED_TABLE)
        source = stage.view(stage.dataset.changes(repetition))
        took = seconds(partial(stage.engine.upsert, KEYED_TABLE, source))
        if repetition == UPSERTS - 1:
            stage.check(KEYED_TABLE, merged=True)
        return Sample(took)


UPSERT = Upsert(
    "upsert", "ten upserts of 5 %, write-only", ("load",), base="insert", marks=Marks(1.7, 5.1, 1.0), slices=UPSERTS
)
