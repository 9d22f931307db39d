"""One hundred INSERTs of one row each."""

from __future__ import annotations

from functools import partial

from bench.dataset import one_row
from bench.works.base import SMALL_TABLE, WARM_TABLE, Marks, Sample, Stage, Work, WrongAnswerError, seconds

INSERTS = 100
_WARM_INSERTS = 5


class SmallInserts(Work):
    """Small commits into a new append table."""

    def warm_up(self, stage: Stage) -> None:
        stage.fresh(WARM_TABLE)
        for number in range(_WARM_INSERTS):
            stage.engine.insert_row(WARM_TABLE, one_row(number))
        stage.engine.drop(WARM_TABLE)

    def sample(self, stage: Stage, repetition: int) -> Sample:
        stage.fresh(SMALL_TABLE)
        engine = stage.engine
        parts = tuple(seconds(partial(engine.insert_row, SMALL_TABLE, one_row(n))) for n in range(INSERTS))
        found = tuple(engine.rows(f"SELECT count(*), sum(id) FROM {engine.named(SMALL_TABLE)}")[0])
        if found != (INSERTS, sum(range(INSERTS))):
            raise WrongAnswerError(f"{SMALL_TABLE} holds (rows, sum of id) {found} after {INSERTS} INSERTs.")
        return Sample(sum(parts), parts=parts)


SMALL_INSERTS = SmallInserts("small-inserts", "100 one-row INSERTs", marks=Marks(0.72, 1.16, 0.7), once=True)
