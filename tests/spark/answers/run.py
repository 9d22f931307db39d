"""Stories carried out in Spark: each answer is compared with Spark's over plain rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from tests.spark.answers.story import Change, Check, Order, Query, Statement, Step, Story
from tests.spark.answers.tables import Teller

INTERPRETED = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings with which Spark compiles nothing: no two queries of these are alike, and all are small."""
_PLAIN = "spark.paimon.read.push-down.enabled"
_ROWS = "plain_rows"
_NUMBERS = count(1)

Rows = list[tuple[Any, ...]]


class DifferentAnswerError(AssertionError):
    """An answer was not that of plain rows."""

    def __init__(self, step: Step, what: str, found: object, expected: object) -> None:
        super().__init__(f"{what}\n  found    {found}\n  expected {expected}")
        self.step = step


@dataclass
class Counts:
    """What was done."""

    stories: int = 0
    statements: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    queries: int = 0
    failed_alike: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return (
            f"{self.stories} tables of {len(self.kinds)} kinds,"
            f" {self.statements} statements ({sum(self.refused.values())} refused),"
            f" {self.queries} queries ({self.failed_alike} errors on both sides)"
        )


class Runner:
    """Carries out stories, each in a database of its own.

    Args:
        spark: the session.
        catalog: the catalog of the databases.
        warehouse: the directory of the databases; empty where the catalog knows it.
    """

    def __init__(self, spark: SparkSession, catalog: str = "paimon", warehouse: str = "") -> None:
        self._spark = spark
        self._catalog = catalog
        self._warehouse = warehouse
        self.counts = Counts()
        self._log: list[Step] = []

    def told(self, seed: int, queries: int = 10) -> tuple[Story, DifferentAnswerError | None]:
        """Tell the story of a seed; the story, and the first answer that was not right."""
        chance = Random(seed)
        zone = chance.choice(["UTC", "UTC", "America/New_York", "Asia/Kolkata"])
        self._log = []
        with self._database():
            teller = Teller(chance, self._noted, queries)
            try:
                self._noted(Statement(f"SET spark.sql.session.timeZone = {zone}"))
                teller.tell()
            except DifferentAnswerError as error:
                return Story(tuple(self._log)), error
            finally:
                self.counts.stories += 1
                self.counts.kinds[teller.table.kind] += 1
        return Story(tuple(self._log)), None

    def again(self, story: Story) -> DifferentAnswerError | None:
        """Carry out a story; the first answer that is not right."""
        with self._database():
            for step in story.steps:
                try:
                    self.do(step)
                except DifferentAnswerError as error:
                    return error
                except PySparkException:
                    return None  # without an earlier step it makes no sense
        return None

    def smallest(self, story: Story, error: DifferentAnswerError) -> Story:
        """The story without what the error does not hang on."""
        story = Story((*story.steps[: story.steps.index(error.step)], error.step))
        last = story.steps[-1]
        if isinstance(last, Check):
            for query in last.queries:
                alone = Story((*story.steps[:-1], replace(last, queries=(query,))))
                if self.again(alone) is not None:
                    story = alone
                    break
        for place in range(len(story.steps) - 2, -1, -1):
            shorter = story.without([place])
            if self.again(shorter) is not None:
                story = shorter
        return story

    @contextmanager
    def _database(self) -> Iterator[None]:
        spark, name = self._spark, f"answers{next(_NUMBERS)}"
        zone = spark.conf.get("spark.sql.session.timeZone")
        location = f" LOCATION '{self._warehouse}/{name}.db'" if self._warehouse else ""
        spark.sql(f"CREATE DATABASE {self._catalog}.{name}{location}")
        spark.sql(f"USE {self._catalog}.{name}")
        try:
            yield
        finally:
            spark.conf.set("spark.sql.session.timeZone", zone or "UTC")
            spark.conf.unset("spark.sql.cbo.enabled")
            spark.sql(f"USE {self._catalog}.default")
            spark.sql(f"DROP DATABASE {self._catalog}.{name} CASCADE")

    def _noted(self, step: Step) -> bool:
        self._log.append(step)
        return self.do(step)

    def do(self, step: Step) -> bool:
        """Do a step; whether it was taken.

        Raises:
            DifferentAnswerError: an answer is not that of plain rows.
        """
        if isinstance(step, Check):
            return self._check(step)
        if isinstance(step, Change):
            return self._change(step)
        return self._statement(step.text)

    def _statement(self, text: str) -> bool:
        self.counts.statements += 1
        try:
            self._spark.sql(text).collect()
        except Py4JJavaError as error:
            raise DifferentAnswerError(Statement(text), text, str(error.java_exception)[:300], "an answer") from None
        except PySparkException as error:
            if "Traceback" in str(error):
                raise DifferentAnswerError(Statement(text), text, _short(error), "rows, or one message") from None
            self.counts.refused[_kind_of(error)] += 1
            return False
        return True

    def _change(self, step: Change) -> bool:
        self._keep_plain("SELECT * FROM t")
        expected = self._answer(step.becomes.replace("{source}", _ROWS))
        if isinstance(expected, PySparkException) or not self._statement(step.text):
            return False
        found = _rows(self._plain("SELECT * FROM t")[0])
        if sorted(found, key=str) != sorted(expected, key=str):
            raise DifferentAnswerError(step, step.text, *_differences(found, expected))
        return True

    def _check(self, step: Check) -> bool:
        columns = ", ".join(["*", *step.hidden])
        text = f"SELECT {columns} FROM {step.source}"
        try:
            self._keep_plain(text)
        except Py4JJavaError as error:
            raise DifferentAnswerError(step, text, str(error.java_exception)[:300], "rows") from None
        except PySparkException as error:
            self.counts.refused[_kind_of(error)] += 1
            return False
        self._check_keys(step)
        for query in step.queries:
            self._compare(step, query)
        return True

    def _check_keys(self, step: Check) -> None:
        """No two rows of a plain read have one key."""
        if not step.keys:
            return
        # As text the two zeros, which are two keys, differ.
        keys = ", ".join(f"CAST({name} AS STRING)" for name in step.keys)
        found = self._answer(f"SELECT {keys}, count(*) FROM {_ROWS} GROUP BY {keys} HAVING count(*) > 1")
        if found:
            what = f"rows of one key ({', '.join(step.keys)}) of {step.source}"
            raise DifferentAnswerError(step, what, _short(found), "one row of each key")

    def _compare(self, step: Check, query: Query) -> None:
        self.counts.queries += 1
        expected = self._answer(query.of(_ROWS))
        found = self._answer(query.of(step.source))
        if isinstance(found, PySparkException) or isinstance(expected, PySparkException):
            if isinstance(found, PySparkException) and isinstance(expected, PySparkException):
                self.counts.failed_alike += 1
                return
            if isinstance(expected, PySparkException) and _depends_on_rows(expected):
                return  # a row that was left out by metadata would have failed
            if isinstance(found, PySparkException) and _is_of_spark(query.text, found):
                return
            raise DifferentAnswerError(step, query.of(step.source), _short(found), _short(expected))
        every = expected if query.order is Order.ROWS else self._answer(query.of(_ROWS, limited=False))
        assert not isinstance(every, PySparkException)
        if not _is_right(query, found, expected, every):
            raise DifferentAnswerError(step, query.of(step.source), *_differences(found, expected))

    def _keep_plain(self, text: str) -> None:
        """Make a view of what a query answers when nothing is pushed down."""
        rows, schema = self._plain(text)
        self._spark.createDataFrame(rows, schema).createOrReplaceTempView(_ROWS)

    def _plain(self, text: str) -> tuple[pa.Table, StructType]:
        self._spark.conf.set(_PLAIN, "false")
        try:
            frame = self._spark.sql(text)
            return frame.toArrow(), frame.schema
        finally:
            self._spark.conf.unset(_PLAIN)

    def _answer(self, text: str) -> Rows | PySparkException:
        try:
            return _rows(self._spark.sql(text).toArrow())
        except PySparkException as error:
            return error
        except Py4JJavaError as error:
            return PySparkException(_cause(error.java_exception))


def _is_right(query: Query, found: Rows, expected: Rows, every: Rows) -> bool:
    if query.order is Order.ROWS:
        return sorted(found, key=str) == sorted(expected, key=str)
    left = Counter(map(str, found))
    left.subtract(Counter(map(str, every)))
    if len(found) != len(expected) or any(n > 0 for n in left.values()):
        return False
    return query.order is Order.SOME or [r[: query.keys] for r in found] == [r[: query.keys] for r in expected]


def _rows(table: pa.Table) -> Rows:
    """The rows as plain values that can be compared; of both zeros one, of all NaNs one."""
    columns = [[_plain_value(v) for v in _values(column)] for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _values(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    elif pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    values: list[Any] = column.to_pylist()
    return values


def _plain_value(value: Any) -> Any:
    if isinstance(value, float):
        # The order in which numbers are added up leaves its mark on the last digits.
        return "NaN" if math.isnan(value) else float(f"{value + 0.0:.12g}")
    if isinstance(value, list | tuple):
        return tuple(map(_plain_value, value))
    if isinstance(value, dict):
        return tuple((k, _plain_value(v)) for k, v in value.items())
    return value


def _differences(found: Rows, expected: Rows) -> tuple[str, str]:
    """What one has and the other has not."""
    ours, theirs = Counter(map(str, found)), Counter(map(str, expected))
    if ours == theirs:
        return str(found[:5]), str(expected[:5])
    more, less = list((ours - theirs).elements()), list((theirs - ours).elements())
    return f"{len(found)} rows, of which unexpected {more[:4]}", f"{len(expected)} rows, of which not found {less[:4]}"


def _short(answer: Rows | PySparkException) -> str:
    """The answer, or the lines of an error that tell the most: the last of a traceback in a worker."""
    if not isinstance(answer, PySparkException):
        return str(answer)[:300]
    lines = [line for line in str(answer).split("\n") if line.strip()]
    return "\n".join([*lines[:2], *lines[-6:]] if len(lines) > 8 else lines)[:2000]


def _kind_of(error: PySparkException) -> str:
    return " ".join(str(error).strip().split("\n")[0].split()[:9])


def _cause(error: Any) -> str:
    """What made Spark fail, and where."""
    while error.getCause() is not None:
        error = error.getCause()
    frames = [str(frame) for frame in error.getStackTrace()]
    return f"not told by Spark's own error: {error} at {frames[0] if frames else 'no place'}"[:600]


_OF_SPARK = (
    ("'NaN'", "Character N is neither a decimal digit number"),  # estimates of how many rows lie beyond NaN
    ("CAST(NULL AS", "orc.OrcFilters$.castLiteralValue"),  # IN with NULL over plain ORC files
)
"""What Spark cannot do with its own tables either: a part of the query, and of the error."""


def _is_of_spark(text: str, error: PySparkException) -> bool:
    return any(part in text and what in str(error) for part, what in _OF_SPARK)


def _depends_on_rows(error: PySparkException) -> bool:
    """Whether an error comes of some row's value, and not of the query itself."""
    return any(word in str(error) for word in ("OVERFLOW", "CAST_", "DIVIDE", "INVALID_ARRAY", "NUMERIC_VALUE"))
