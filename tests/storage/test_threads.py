"""Small operations shared among threads."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.storage.execution.threads import map_in_threads


@given(st.lists(st.integers()), st.integers(-1, 9))
def test_results_come_in_the_order_of_the_items(items: list[int], threads: int) -> None:
    assert map_in_threads(lambda n: n * 2, items, threads) == [n * 2 for n in items]


def test_one_thread_is_the_callers_own() -> None:
    assert set(map_in_threads(lambda _: threading.get_ident(), [1, 2], 1)) == {threading.get_ident()}


def test_an_error_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        map_in_threads(lambda n: 1 // n, [1, 0, 2], 2)
