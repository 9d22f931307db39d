"""Exchanges of Arrow batches between tasks, without Spark: every row arrives once, in the order of its task."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.spark.write import exchange
from paimon_sql.spark.write.exchange import arrived, divided

_TASKS = 3
_SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("text", pa.string()),
        ("items", pa.list_(pa.struct([("k", pa.decimal128(38, 2)), ("v", pa.binary())]))),
    ]
)
Row = dict[str, object]
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.integers(0, 20),
            "text": st.none() | st.text(max_size=5),
            "items": st.none()
            | st.lists(st.none() | st.fixed_dictionaries({"k": st.none(), "v": st.binary(max_size=4)}), max_size=2),
        }
    ),
    max_size=30,
)


def owners(batch: pa.RecordBatch) -> npt.NDArray[np.int32]:
    """The task of each row."""
    numbers: npt.NDArray[np.int32] = (batch.column("id").to_numpy() % _TASKS).astype(np.int32)
    return numbers


def batches(rows: Sequence[Row], size: int) -> Iterator[pa.RecordBatch]:
    """Rows as batches of some rows; the last one is empty."""
    for start in range(0, len(rows) + 1, size):
        yield pa.RecordBatch.from_pylist(list(rows[start : start + size]), schema=_SCHEMA)


def sent(rows: Sequence[Sequence[Row]], size: int) -> pa.Table:
    """The chunks that all tasks send, given the rows of each."""
    none = next(divided(batches([{"id": 0}], 1), owners, 9)).slice(0, 0)
    chunks = (chunk for source, own in enumerate(rows) for chunk in divided(batches(own, size), owners, source))
    return pa.Table.from_batches([none, *chunks])


@pytest.mark.parametrize("chunk_bytes", [1, 100, 16 * 1024])
@settings(max_examples=40, deadline=None)
@given(rows=st.lists(ROWS, min_size=1, max_size=3), size=st.integers(1, 7), seed=st.integers(0, 99))
def test_every_row_arrives_at_its_task_in_order(chunk_bytes: int, rows: list[list[Row]], size: int, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(exchange, "_CHUNK_BYTES", chunk_bytes)
        patched.setattr(exchange, "_BUFFER_BYTES", 200)
        chunks = sent(rows, size)
    for task in range(_TASKS):
        own = chunks.filter(pa.array(chunks["owner"].to_numpy() == task))
        in_order = [row for batch in arrived(own.to_batches(max_chunksize=3)) for row in batch.to_pylist()]
        assert in_order == [row for source in rows for row in source if row["id"] % _TASKS == task]  # type: ignore[operator]
        shuffled = own.take(pa.array(random.Random(seed).sample(range(len(own)), len(own)), pa.int64()))
        found = [row for batch in arrived(shuffled.to_batches(max_chunksize=2)) for row in batch.to_pylist()]
        assert sorted(map(repr, found)) == sorted(map(repr, in_order))


def test_rows_that_do_not_arrive_whole_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_CHUNK_BYTES", 50)
    chunks = sent([[{"id": number, "text": None, "items": None} for number in range(9)]], 9)
    with pytest.raises(AssertionError, match="lack chunks"):
        list(arrived(chunks.slice(0, len(chunks) - 1).to_batches()))
