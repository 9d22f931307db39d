"""TPC-H and TPC-DS: loads of all their tables, and each query of them on plain tables and on those after upserts."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bench.tpc.benchmarks import Benchmark
from bench.tpc.input import UPSERTS, Input
from bench.works.base import Marks, Sample, Stage, Work

_PLAIN, _KEYED = Marks(target=1.05), Marks(target=1.15)
_BUCKET_ROWS = 50_000
"""A small table has no more buckets than it has so many rows."""


@dataclass(frozen=True)
class TpcWork(Work):
    """Work on the tables of one kind.

    Attributes:
        keyed: whether their rows came by a load and overlapping upserts by key.
    """

    keyed: bool = False

    def database(self) -> str:
        """The database of the tables."""
        return "keyed_tables" if self.keyed else "plain_tables"

    @staticmethod
    def input(stage: Stage) -> Input:
        """The data set."""
        return Input(stage.dataset.folder)


class TpcLoad(TpcWork):
    """All tables, made and filled."""

    def warm_up(self, stage: Stage) -> None:
        """Nothing: it is measured once, for the record."""

    def sample(self, stage: Stage, repetition: int) -> Sample:
        engine, data = stage.engine, self.input(stage)
        engine.use(self.database())
        started = time.perf_counter()
        for table in data.tables():
            buckets = min(engine.settings.buckets, 1 + table.rows // _BUCKET_ROWS)
            engine.define(table.name, table.columns, table.key if self.keyed else (), buckets)
            if not self.keyed:
                engine.insert(table.name, stage.view(data.rows(table.name)))
                continue
            engine.write_only(table.name)
            engine.insert(table.name, stage.view(data.stale(table.name)))
            for upsert in range(UPSERTS):
                engine.upsert(table.name, stage.view(data.changes(table.name, upsert)))
        return Sample(time.perf_counter() - started)


@dataclass(frozen=True)
class TpcQuery(TpcWork):
    """One query, whose rows are fetched.

    Attributes:
        number: which one.
    """

    number: int = 0

    def warm_up(self, stage: Stage) -> None:
        self.sample(stage, -1)

    def sample(self, stage: Stage, repetition: int) -> Sample:
        engine, text = stage.engine, self.input(stage).query(self.number)
        engine.use(self.database())
        started = time.perf_counter()
        frame = engine.spark.sql(text)
        frame._jdf.queryExecution().executedPlan()
        planned = time.perf_counter()
        rows = frame.collect()
        took = time.perf_counter() - started
        return Sample(took, answer_of(rows), planned - started)


def answer_of(rows: list[Any]) -> str:
    """A mark of rows: the same for the same rows in whatever order, and for floats that agree in six digits."""
    texts = sorted("\x1f".join(map(_text, row)) for row in rows)
    return f"{len(rows)} rows {hashlib.sha256(chr(30).join(texts).encode()).hexdigest()[:16]}"


def _text(value: Any) -> str:
    # Sums of floats hang on the order of their rows.
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def tpc_works(benchmark: Benchmark) -> dict[str, Work]:
    """The works of a benchmark."""
    return {work.name: work for work in _works(benchmark)}


def _works(benchmark: Benchmark) -> Iterator[Work]:
    yield TpcLoad("load", "load of all tables", slices=1)
    yield TpcLoad("keyed-load", "load and upserts by key", base="load", slices=1, keyed=True)
    for number in benchmark.numbers:
        name = f"q{number}"
        yield TpcQuery(name, name, ("load",), marks=_PLAIN, turn=name, number=number)
        yield TpcQuery(
            f"keyed-{name}",
            f"{name}, after upserts by key",
            ("keyed-load",),
            base=name,
            marks=_KEYED,
            turn=name,
            same_answer=True,
            keyed=True,
            number=number,
        )
