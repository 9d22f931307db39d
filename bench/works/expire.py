"""Expire 95 of the 100 snapshots that the small INSERTs left."""

from __future__ import annotations

from functools import partial

from bench.dataset import one_row
from bench.works.base import SMALL_TABLE, WARM_TABLE, Marks, Sample, Stage, Work, WrongAnswerError, seconds
from bench.works.small_inserts import INSERTS

KEPT = 5


class Expire(Work):
    """One call that expires snapshots; the data stays."""

    def warm_up(self, stage: Stage) -> None:
        stage.fresh(WARM_TABLE)
        for number in range(KEPT):
            stage.engine.insert_row(WARM_TABLE, one_row(number, stage.engine.settings.variant))
        stage.engine.expire(WARM_TABLE, keep=1)
        stage.engine.drop(WARM_TABLE)

    def sample(self, stage: Stage, repetition: int) -> Sample:
        took = seconds(partial(stage.engine.expire, SMALL_TABLE, KEPT))
        left = stage.engine.snapshots(SMALL_TABLE)
        if left not in (None, KEPT):
            raise WrongAnswerError(f"{SMALL_TABLE} has {left} snapshots left, not {KEPT}.")
        return Sample(took)


EXPIRE = Expire(
    "expire",
    f"expire {INSERTS - KEPT} of {INSERTS} snapshots",
    ("small-inserts",),
    base="small-inserts",
    share=1 / INSERTS,
    marks=Marks(2.0, 29, 1.5),
    slices=1,
)
