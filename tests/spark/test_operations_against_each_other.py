"""Each statement against each other: one stands still before it publishes while another runs from end to end.

Of the others a third takes its turn; with ``PAIMON_TEST_KINDS=all`` all do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.selection import in_turns
from tests.spark.conflict_matrix import REFUSED_OVER_KEYS, STATEMENTS, World, expected, matrix, play

Sql = Callable[[str], list[tuple[Any, ...]]]

KEYED = ("INSERT", "INSERT OVERWRITE", "UPDATE", "DELETE", "MERGE", "compact", "expire_snapshots", "rollback")


def _others(statements: Sequence[str], first: str) -> Sequence[str]:
    return in_turns(statements, statements.index(first), ceil(len(statements) / 3))


@pytest.mark.parametrize("first", STATEMENTS)
def test_each_pair_ends_as_the_matrix_says(sql: Sql, spark: SparkSession, tmp_path: Path, first: str) -> None:
    world = World(spark, tmp_path, keyed=False)
    others = _others(list(STATEMENTS), first)
    found = {second: play(world, STATEMENTS[first], STATEMENTS[second]) for second in others}
    assert found == {second: expected(first, second) for second in others}


@pytest.mark.parametrize("first", KEYED)
def test_each_pair_over_a_keyed_table_ends_as_the_matrix_says(
    sql: Sql, spark: SparkSession, tmp_path: Path, first: str
) -> None:
    world = World(spark, tmp_path, keyed=True)
    others = _others(KEYED, first)
    found = {second: play(world, STATEMENTS[first], STATEMENTS[second]) for second in others}
    assert found == {second: expected(first, second, REFUSED_OVER_KEYS) for second in others}


def test_the_guarantees_show_the_matrix() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guarantees.md").read_text()
    assert "\n".join(matrix()) in page
