"""Merges of more sorted runs than may be open at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.format.options import TableOptions
from paimon_sql.storage.merge.windows import RowOrder, Run, merged_windows
from tests.storage import core_tables as core

KEYS = st.lists(st.one_of(st.none(), st.integers(-5, 20)), max_size=12)
Rows = list[tuple[int | None, int]]


def run(number: int, keys: list[int | None], opened: list[int]) -> Run:
    """A run of these keys; its rows tell its number, and ``opened`` counts the runs that are open."""
    ordered = sorted(keys, key=lambda k: (k is not None, k or 0))
    table = pa.table({"k": pa.array(ordered, pa.int64()), "run": pa.array([number] * len(keys), pa.int64())})

    def read(batch_rows: int) -> Iterator[pa.RecordBatch]:
        opened.append(opened[-1] + 1)
        yield from table.to_batches(max_chunksize=batch_rows)
        opened.append(opened[-1] - 1)

    return Run(len(keys), table.nbytes, read, f"run {number}")


def merged(runs: list[list[int | None]], by: RowOrder, most: int, opened: list[int]) -> Rows:
    options = TableOptions({"sort-spill-buffer-size": "100 b", "sort-spill-threshold": str(most)})
    made = [run(i, keys, opened) for i, keys in enumerate(runs)]
    return [
        (row["k"], row["run"]) for w in merged_windows(made, by, options) for row in w.table.take(w.order).to_pylist()
    ]


@given(st.lists(KEYS, max_size=9), st.integers(2, 4), st.sampled_from([None, False, True]))
def test_spilled_runs_keep_the_order_of_keys_and_ages(
    runs: list[list[int | None]], most: int, descending: bool | None
) -> None:
    by = RowOrder(("k",), () if descending is None else (("run", descending),))
    opened = [0]
    found = merged(runs, by, most, opened)
    sign = -1 if descending else 1
    rows = [(k, i) for i, keys in enumerate(runs) for k in keys]
    assert found == sorted(rows, key=lambda r: (r[0] is not None, r[0] or 0, sign * r[1]))
    assert max(opened) <= max(most, len(runs) if sum(map(len, runs)) * 16 <= 100 else 0)


def test_nothing_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    options = TableOptions({"sort-spill-buffer-size": "1 kb", "sort-spill-threshold": "2"})
    made = [run(i, list(range(100)), [0]) for i in range(5)]
    found = merged_windows(made, RowOrder(("k",)), options)
    next(found)
    assert list(tmp_path.iterdir())
    assert isinstance(found, Generator)
    found.close()
    assert not list(tmp_path.iterdir())


def test_a_table_of_many_small_writes_is_read_and_compacted_with_few_files_open(tmp_path: Path) -> None:
    options = {"write-only": "true", "sort-spill-buffer-size": "1 kb", "sort-spill-threshold": "2"}
    table = core.make_table(tmp_path / "t", options, keys=("id",))
    for number in range(6):
        core.insert(table, *((i, f"{number}" * 20, None) for i in range(number, 20)))
    expected = [(i, str(min(i, 5)) * 20, None) for i in range(20)]
    assert sorted(core.rows(table)) == expected
    core.compact(table)
    assert sorted(core.rows(table)) == expected
