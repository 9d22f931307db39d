"""Look one row up by its key, another one each time."""

from __future__ import annotations

from dataclasses import dataclass

from bench.works.base import KEYED_TABLE, Marks, Stage
from bench.works.query import Query

_STEP = 7_919


@dataclass(frozen=True)
class Lookup(Query):
    """A query for one key."""

    def statement(self, stage: Stage, repetition: int) -> str:
        rows = stage.dataset.expected().rows
        key = (rows // 3 + repetition * _STEP) % rows
        return f"SELECT * FROM {stage.engine.named(self.table)} WHERE id = {key}"


LOOKUP = Lookup("lookup", "append: look-up of one key", ("insert",), marks=Marks(1.1, 1.2), quick=3)
MERGED_LOOKUP = Lookup(
    "merged-lookup",
    "merge on read: look-up of one key",
    ("upsert",),
    base="lookup",
    marks=Marks(0.5, 2.0, 0.18),
    quick=3,
    table=KEYED_TABLE,
)
COMPACTED_LOOKUP = Lookup(
    "compacted-lookup",
    "compacted: look-up of one key",
    ("compact",),
    base="lookup",
    marks=Marks(0.5, 2.0, 0.18),
    quick=3,
    table=KEYED_TABLE,
)
