"""Distribution of rows to Python workers, whose answers return to the driver."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame

from paimon_sql.spark.execution.arrow_batches import coalesced, map_in_arrow
from paimon_sql.spark.execution.worker_errors import catching, results
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.staged_files import gather
from paimon_sql.storage.table.table import Table

R = TypeVar("R")
Batches = Iterable[pa.RecordBatch]


def run_on_executors(
    table: Table, rows: DataFrame, work: Callable[[Batches], R], written: Callable[[R], Sequence[CommitMessage]]
) -> list[R]:
    """Run a function on each partition of rows and return the answers.

    Args:
        table: the table that the workers write to.
        rows: the rows, distributed as the function requires.
        work: the function of each worker.
        written: the files that a worker wrote, from its answer.

    Raises:
        PaimonError: a worker failed; the files of all workers are deleted.
    """
    answers = [pickle.loads(found.answer) for found in map_partitions(rows, work).collect()]
    return gather(table, results(answers), written)


def map_partitions(rows: DataFrame, work: Callable[[Batches], R]) -> DataFrame:
    """One row per partition of rows: the pickled answer of the function."""
    return map_in_arrow(rows, _worker_of(work), "answer binary")


def _worker_of(work: Callable[[Batches], R]) -> Any:
    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pickled = pickle.dumps(catching(work)(coalesced(batches)))
        yield pa.RecordBatch.from_pydict({"answer": pa.array([pickled], pa.binary())})

    return answer
