"""What a work is: something that every engine does and that takes time."""

from __future__ import annotations

import statistics
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.dataset import Dataset, Expected
from bench.engines.base import Engine

APPEND_TABLE = "orders"
KEYED_TABLE = "keyed_orders"
SMALL_TABLE = "events"
WARM_TABLE = "warm_up"


@dataclass(frozen=True)
class Marks:
    """The ratios to Parquet that were stated before: two connectors' and the one that is aimed at."""

    java: float | None = None
    iceberg: float | None = None
    target: float | None = None


@dataclass(frozen=True)
class Sample:
    """One measurement.

    Attributes:
        seconds: how long it took.
        answer: what the engine answered, which must be the same of all engines.
        planning: the seconds of it before anything ran, where they are known.
    """

    seconds: float
    answer: str | None = None
    planning: float | None = None


class WrongAnswerError(Exception):
    """An engine's table does not hold what it must."""


@dataclass(frozen=True)
class Stage:
    """Where the works of one engine happen."""

    engine: Engine
    dataset: Dataset

    def view(self, folder: Path) -> str:
        """The name of a view over Parquet files."""
        name = f"input_{folder.name.replace('-', '_')}"
        self.engine.spark.read.parquet(folder.as_uri()).createOrReplaceTempView(name)
        return name

    def fresh(self, table: str, *, keyed: bool = False) -> None:
        """Make a table anew."""
        self.engine.drop(table)
        self.engine.create(table, keyed=keyed)

    def check(self, table: str, *, merged: bool = False) -> None:
        """Nothing if a table holds the data set, before or after the upserts.

        Raises:
            WrongAnswerError: it holds something else.
        """
        expected: Expected = self.dataset.expected()
        want = (expected.rows, expected.merged_quantity if merged else expected.quantity)
        query = f"SELECT count(*), sum(quantity) FROM {self.engine.named(table)}"
        found = tuple(self.engine.rows(query)[0])
        if found != want:
            raise WrongAnswerError(f"{table} holds (rows, sum of quantity) {found}, not {want}.")


@dataclass(frozen=True)
class Work(ABC):
    """A work.

    Attributes:
        name: what it is called on the command line.
        title: what the table calls it.
        needs: works that must have been done before, on the same engine.
        base: the work on Parquet that it is measured against; itself if it is empty.
        share: the part of the base's time that counts as 1.
        marks: the ratios that were stated before.
        slices: in how many samples it is divided whose seconds are added up, for what changes the tables and can
            therefore be measured only once; 0 for what can be repeated.
        quick: how often it is repeated for each repetition asked for; small works are noisy.
        kind: the kind of table that an engine must have to do it; empty for what all have.
        turn: works of the same turn are measured together, repetition by repetition; empty for a turn of its own.
        same_answer: whether its answer must be that of its base as well.
    """

    name: str
    title: str
    needs: tuple[str, ...] = ()
    base: str = ""
    share: float = 1.0
    marks: Marks = field(default_factory=Marks)
    slices: int = 0
    quick: int = 1
    kind: str = ""
    turn: str = ""
    same_answer: bool = False

    @property
    def measured_against(self) -> str:
        """The work on Parquet that counts as 1."""
        return self.base or self.name

    def repetitions(self, asked: int) -> int:
        """How often it is measured."""
        return self.slices or asked * self.quick

    def total(self, samples: Sequence[float]) -> float:
        """The figure that samples make."""
        return sum(samples) if self.slices else statistics.median(samples)

    @abstractmethod
    def warm_up(self, stage: Stage) -> None:
        """Do something alike once, so that what Spark compiles and loads is there."""

    @abstractmethod
    def sample(self, stage: Stage, repetition: int) -> Sample:
        """Do it, and measure."""


def seconds(action: Callable[[], object]) -> float:
    """How long an action takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started
