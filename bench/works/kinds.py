"""Tables of other kinds than the plain ones: loaded, upserted and read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from bench.works.base import WARM_TABLE, Marks, Sample, Stage, Work, seconds
from bench.works.lookup import Lookup

UPSERTS = 3


@dataclass(frozen=True)
class KindWork(Work):
    """Work on a table of one kind, which only some engines have."""

    @property
    def table(self) -> str:
        """The kind's table."""
        return f"{self.kind.replace('-', '_')}_orders"


class KindLoad(KindWork):
    """A bulk load into a new table of the kind."""

    def warm_up(self, stage: Stage) -> None:
        stage.engine.drop(WARM_TABLE)
        stage.engine.create_kind(WARM_TABLE, self.kind)
        for upsert in (0, 1):
            stage.engine.insert(WARM_TABLE, stage.view(stage.dataset.changes(upsert)))
        stage.engine.drop(WARM_TABLE)

    def sample(self, stage: Stage, repetition: int) -> Sample:
        stage.engine.create_kind(self.table, self.kind)
        took = seconds(partial(stage.engine.insert, self.table, stage.view(stage.dataset.orders)))
        stage.check(self.table)
        return Sample(took)


class KindUpsert(KindWork):
    """Upserts of keys that exist."""

    def warm_up(self, stage: Stage) -> None:
        """Nothing: the load has done the like."""

    def sample(self, stage: Stage, repetition: int) -> Sample:
        return Sample(seconds(partial(stage.engine.upsert, self.table, stage.view(stage.dataset.changes(repetition)))))


class KindScan(KindWork):
    """Every column of every row."""

    def warm_up(self, stage: Stage) -> None:
        stage.engine.scan(self.table)

    def sample(self, stage: Stage, repetition: int) -> Sample:
        return Sample(seconds(partial(stage.engine.scan, self.table)))


def _works(kind: str, title: str, load: Marks, upsert: Marks, scan: Marks, *, each: bool = False) -> tuple[Work, ...]:
    """The works on a kind of table; ``each`` compares one upsert with the insert instead of all three."""
    loaded, upserted = f"{kind}-load", f"{kind}-upsert"
    return (
        KindLoad(loaded, f"{title}: bulk load", base="insert", marks=load, slices=1, kind=kind),
        KindUpsert(
            upserted,
            f"{title}: {'one of ' if each else ''}three upserts of 5 %",
            (loaded,),
            base="insert",
            share=UPSERTS if each else 1,
            marks=upsert,
            slices=UPSERTS,
            kind=kind,
        ),
        KindScan(f"{kind}-scan", f"{title}: full scan after them", (upserted,), base="scan", marks=scan, kind=kind),
    )


KIND_WORKS = (
    *_works("aggregation", "aggregation", Marks(), Marks(), Marks(3.2, None, 1.6)),
    *_works("partial-update", "partial update", Marks(), Marks(), Marks(2.9, None, 1.5)),
    *_works("vectors", "deletion vectors", Marks(2.3, None, 1.2), Marks(1.4, None, 0.6), Marks(2.0, None, 1.05)),
    *_works("lookup", "changes looked up", Marks(), Marks(1.1, None, 0.25), Marks(), each=True),
    KindLoad("indexed-load", "append, Bloom filters: bulk insert", base="insert", slices=1, kind="indexed"),
    Lookup(
        "indexed-lookup",
        "append, Bloom filters: look-up of one key",
        ("indexed-load",),
        base="lookup",
        marks=Marks(None, None, 0.3),
        quick=3,
        table="indexed_orders",
        kind="indexed",
    ),
)
