"""Sorted runs in windows, against plain Python: every row once, no key in two windows, memory bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.errors import PaimonError
from paimon_sql.storage.merge.windows import RowOrder, Run, Window, windows
from tests.storage.sample_values import KINDS, Kind, key_order

Key = tuple[Any, ...]
Row = tuple[Key, int, int]
"""A key, a sequence value, and the number that identifies the row."""


def names_of(kinds: Sequence[Kind]) -> tuple[str, ...]:
    return tuple(f"k{i}" for i in range(len(kinds)))


def table_of(rows: Sequence[Row], kinds: Sequence[Kind]) -> pa.Table:
    columns = {
        n: k.array([key[i] for key, _, _ in rows]) for i, (n, k) in enumerate(zip(names_of(kinds), kinds, strict=True))
    }
    columns["seq"] = pa.array([seq for _, seq, _ in rows], pa.int64())
    columns["row"] = pa.array([number for _, _, number in rows], pa.int64())
    return pa.table(columns)


class Source:
    """Runs that count how many of their rows were asked for."""

    def __init__(self) -> None:
        self.read = 0
        self.asked: list[int] = []

    def run(self, table: pa.Table, batch_rows: int | None = None, row_bytes: int = 1) -> Run:
        def open_run(asked: int) -> Iterator[pa.RecordBatch]:
            self.asked.append(asked)
            for batch in table.to_batches(max_chunksize=batch_rows or asked):
                self.read += batch.num_rows
                yield batch

        return Run(len(table), len(table) * row_bytes, open_run)


def rows_of(window: Window) -> list[list[int]]:
    """The numbers of the rows, key by key."""
    numbers = window.table["row"].to_numpy()[window.order].tolist()
    ends = [*window.starts.tolist()[1:], len(numbers)]
    return [numbers[a:b] for a, b in zip(window.starts.tolist(), ends, strict=True)]


@st.composite
def runs(draw: st.DrawFn, *, repeats: bool = False) -> tuple[list[Kind], list[list[Row]]]:
    """Runs of very different lengths that share keys; with ``repeats`` a run may hold a key many times."""
    kinds = [KINDS[draw(st.sampled_from(sorted(KINDS)))] for _ in range(draw(st.integers(1, 2)))]
    keys = draw(
        st.lists(
            st.tuples(*(k.values for k in kinds)), min_size=1, max_size=12, unique_by=lambda k: tuple(map(key_order, k))
        )
    )
    number = iter(range(10_000))
    made = []
    for _ in range(draw(st.integers(1, 4))):
        chosen = [k for k in keys if draw(st.booleans())]
        if repeats:
            chosen = [k for k in chosen for _ in range(draw(st.sampled_from([1, 1, 1, 5])))]
        chosen.sort(key=lambda k: tuple(map(key_order, k)))
        made.append([(k, draw(st.integers(0, 2)), next(number)) for k in chosen])
    return kinds, made


def check(kinds: list[Kind], made: list[list[Row]], found: list[Window], *, descending: bool | None) -> None:
    """The windows hold each row once, keys in order and whole, and the rows of a key from the oldest to the newest."""
    expected: dict[Any, list[tuple[Any, int]]] = {}
    for age, run in enumerate(made):
        for key, seq, number in run:
            tie = 0 if descending is None else -seq if descending else seq
            expected.setdefault(tuple(map(key_order, key)), []).append(((tie, age), number))
    groups = [group for window in found for group in rows_of(window)]
    assert groups == [[n for _, n in sorted(expected[key], key=lambda e: e[0])] for key in sorted(expected)]
    for window in found:
        per_key = rows_of(window)
        numbers = window.table["row"].to_numpy()
        assert numbers[window.newest].tolist() == [g[-1] for g in per_key]
        assert numbers[window.oldest].tolist() == [g[0] for g in per_key]


@given(case=runs(), window_bytes=st.integers(1, 600), batch=st.integers(1, 5), tie=st.sampled_from([None, False, True]))
def test_every_row_comes_once_and_no_key_is_split(
    case: tuple[list[Kind], list[list[Row]]], window_bytes: int, batch: int, tie: bool | None
) -> None:
    kinds, made = case
    source = Source()
    by = RowOrder(names_of(kinds), () if tie is None else (("seq", tie),))
    found = list(windows([source.run(table_of(run, kinds), batch) for run in made], by, window_bytes))
    check(kinds, made, found, descending=tie)


@given(case=runs(repeats=True), window_bytes=st.integers(1, 300), batch=st.integers(1, 3))
def test_a_run_that_repeats_a_key_loses_no_row_and_splits_no_key(
    case: tuple[list[Kind], list[list[Row]]], window_bytes: int, batch: int
) -> None:
    kinds, made = case
    found = list(
        windows([Source().run(table_of(run, kinds), batch) for run in made], RowOrder(names_of(kinds)), window_bytes)
    )
    check(kinds, made, found, descending=None)


@given(st.permutations(range(8)), st.integers(1, 400), st.integers(1, 3))
def test_rows_that_are_not_sorted_are_refused_or_come_all_the_same(
    rows: list[int], window_bytes: int, batch: int
) -> None:
    kinds = [KINDS["int"]]
    unsorted: list[Row] = [((key,), 0, key) for key in rows]
    good: list[Row] = [((key,), 0, 100 + key) for key in range(0, 8, 2)]
    made = [Source().run(table_of(unsorted, kinds), batch), Source().run(table_of(good, kinds), batch)]
    try:
        found = [g for w in windows(made, RowOrder(("k0",)), window_bytes) for g in rows_of(w)]
    except PaimonError as error:
        assert rows != sorted(rows)
        assert "not in the order" in str(error)
    else:
        assert found == [[key, 100 + key] if key % 2 == 0 else [key] for key in range(8)]


def test_no_rows_make_no_window() -> None:
    empty = table_of([], [KINDS["int"]])
    assert list(windows([], RowOrder(("k0",)), 100)) == []
    assert list(windows([Source().run(empty), Source().run(empty)], RowOrder(("k0",)), 100)) == []


def test_what_is_held_stays_near_the_window() -> None:
    kinds = [KINDS["bigint"]]
    long_run: list[Row] = [((i,), 0, i) for i in range(20_000)]
    short: list[Row] = [((i,), 0, 20_000 + i) for i in range(0, 20_000, 50)]
    late: list[Row] = [((i,), 0, 40_000 + i) for i in range(19_000, 20_000)]
    source = Source()
    row_bytes, window_rows = 24, 1_000
    made = [source.run(table_of(run, kinds), row_bytes=row_bytes) for run in (long_run, short, late)]
    emitted = count = 0
    for window in windows(made, RowOrder(("k0",)), window_rows * row_bytes):
        assert source.read - emitted <= 1.6 * window_rows
        assert len(window.table) <= 1.6 * window_rows
        emitted += len(window.order)
        count += 1
    assert emitted == source.read == 21_400
    assert count <= 3 * 21_400 / window_rows


def test_batches_that_are_smaller_than_asked_for_do_not_make_small_windows() -> None:
    kinds = [KINDS["bigint"]]
    made = [[((i,), 0, r * 5_000 + i) for i in range(5_000)] for r in range(2)]
    found = list(windows([Source().run(table_of(run, kinds), 7) for run in made], RowOrder(("k0",)), 24 * 1_000))
    assert len(found) <= 40
    assert sum(len(w.order) for w in found) == 10_000


def test_big_rows_are_asked_for_in_small_batches() -> None:
    rows = pa.table(
        {"k0": pa.array(range(200), pa.int32()), "row": pa.array(range(200), pa.int64()), "v": ["x" * 10_000] * 200}
    )
    source = Source()
    held = 0
    for window in windows([source.run(rows, row_bytes=10_000)], RowOrder(("k0",)), 200_000):
        assert window.table.nbytes <= 300_000
        held += len(window.order)
    assert held == 200
    assert source.asked == [5]


def test_one_key_with_more_rows_than_a_window_stays_whole() -> None:
    kinds = [KINDS["int"]]
    run: list[Row] = [((5,), 0, i) for i in range(1_000)]
    (window,) = windows([Source().run(table_of(run, kinds), 10)], RowOrder(("k0",)), 100)
    assert rows_of(window) == [list(range(1_000))]


def test_numbers_of_rows_are_counted_once() -> None:
    kinds = [KINDS["text"]]
    made: list[list[Row]] = [[((c,), 0, i * 10 + j) for j, c in enumerate("aceg")] for i in range(3)]
    found = list(windows([Source().run(table_of(r, kinds), 2) for r in made], RowOrder(("k0",)), 30))
    assert Counter(n for w in found for g in rows_of(w) for n in g) == Counter(n for r in made for _, _, n in r)


@pytest.mark.parametrize("guess", [0, 1, 10**9])
def test_wrong_guesses_of_length_and_size_do_no_harm(guess: int) -> None:
    table = table_of([((i,), 0, i) for i in range(100)], [KINDS["int"]])
    run = Run(guess, guess, lambda rows: iter(table.to_batches(max_chunksize=min(rows, 9))))
    found = list(windows([run, run], RowOrder(("k0",)), 500))
    assert [len(g) for w in found for g in rows_of(w)] == [2] * 100
