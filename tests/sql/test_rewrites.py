"""Texts become what the case files say, and nothing further happens to what was rewritten."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sql.sql_cases import REWRITES, pairs

CASES = [pytest.param(before, after, id=f"{name}: {before[:60]}") for name in REWRITES for before, after in pairs(name)]


@pytest.mark.parametrize(("before", "after"), CASES)
def test_a_text_becomes_canonical_spark_sql(before: str, after: str, sql: Callable[[str], str]) -> None:
    assert sql(before) == after


@pytest.mark.parametrize(("before", "after"), CASES)
def test_what_was_rewritten_once_stays_as_it_is(before: str, after: str, sql: Callable[[str], str]) -> None:
    assert sql(after) == after
