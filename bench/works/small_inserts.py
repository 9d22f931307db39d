"""One hundred INSERTs of one row each."""

from __future__ import annotations

from functools import partial

from bench.dataset import one_row
from bench.works.base import SMALL_TABLE, WARM_TABLE, Marks, Sample, Stage, Work, WrongAnswerError, seconds

INSERTS = 100
_WARM_INSERTS = 5
# The engines take turns so often, because much else happens on a machine while a hundred INSERTs take place.
_SLICES = 10


class SmallInserts(Work):
    """Small commits into a new append table."""

    def warm_up(self, stage: Stage) -> None:
        stage.fresh(WARM_TABLE)
        for number in range(_WARM_INSERTS):
            stage.engine.insert_row(WARM_TABLE, one_row(number, stage.engine.settings.variant))
        stage.engine.drop(WARM_TABLE)

    def sample(self, stage: Stage, repetition: int) -> Sample:
        engine = stage.engine
        if repetition == 0:
            stage.fresh(SMALL_TABLE)
        numbers = range(repetition * INSERTS // _SLICES, (repetition + 1) * INSERTS // _SLICES)
        took = sum(
            seconds(partial(engine.insert_row, SMALL_TABLE, one_row(n, engine.settings.variant))) for n in numbers
        )
        found = tuple(engine.rows(f"SELECT count(*), max(id) FROM {engine.named(SMALL_TABLE)}")[0])
        if found != (numbers.stop, numbers.stop - 1):
            raise WrongAnswerError(f"{SMALL_TABLE} holds (rows, last id) {found} after {numbers.stop} INSERTs.")
        return Sample(took)


SMALL_INSERTS = SmallInserts("small-inserts", "100 one-row INSERTs", marks=Marks(0.95, 1.1, 0.3), slices=_SLICES)
