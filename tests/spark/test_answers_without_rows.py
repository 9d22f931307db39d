"""Answers that are given without reading rows, or without reading all, over random tables: those of a plain read.

``PAIMON_TEST_EXAMPLES`` says how many tables there are; ``python -m tests.spark.answers`` runs them by the hour.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import paimon_sql
from tests.conformance.runners import golden_cases
from tests.spark.answers.existing import check_of
from tests.spark.answers.found import FOUND
from tests.spark.answers.run import INTERPRETED, Runner
from tests.spark.answers.script import as_sql
from tests.spark.answers.story import Story

EXAMPLES = int(os.environ.get("PAIMON_TEST_EXAMPLES", "2"))
SESSION_CATALOG = "spark_catalog"


# Stories are made small statement by statement, which hypothesis could not do to a seed.
_QUICKLY = settings(
    max_examples=EXAMPLES,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module", autouse=True)
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Spark compiles nothing in this module."""
    before = {key: spark.conf.get(key, None) for key in INTERPRETED}
    for key, value in INTERPRETED.items():
        spark.conf.set(key, value)
    yield
    for key, old in before.items():
        spark.conf.unset(key) if old is None else spark.conf.set(key, old)


@pytest.fixture(scope="module")
def replaced(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """Runs stories where ``spark_catalog`` is one of ours."""
    warehouse = str(tmp_path_factory.mktemp("replaced"))
    session = paimon_sql.install(spark.newSession(), {SESSION_CATALOG: {"warehouse": warehouse}})
    for key, value in {**INTERPRETED, "spark.sql.sources.default": "paimon"}.items():
        session.conf.set(key, value)
    return Runner(session, SESSION_CATALOG, warehouse)


@_QUICKLY
@given(seed=st.integers(0, 2**31))
def test_they_are_those_of_a_read_without_push_down(spark: SparkSession, seed: int) -> None:
    _tell(Runner(spark), seed)


@_QUICKLY
@given(seed=st.integers(0, 2**31))
def test_they_are_where_the_session_catalog_is_replaced(replaced: Runner, workers_aggregate: None, seed: int) -> None:
    _tell(replaced, seed)


def _tell(runner: Runner, seed: int) -> None:
    story, error = runner.told(seed, queries=8)
    if error is not None:
        smallest = runner.smallest(story, error)
        pytest.fail(f"seed {seed}:\n{as_sql(smallest)}\n{runner.again(smallest) or error}", pytrace=False)


@pytest.mark.parametrize("what", FOUND)
def test_what_was_wrong_once_stays_right(spark: SparkSession, what: str) -> None:
    error = Runner(spark).again(FOUND[what])
    assert error is None, error


@pytest.mark.skipif(not golden_cases(), reason="the golden tables are not there")
@_QUICKLY
@given(case=st.sampled_from(golden_cases() or [""]), seed=st.integers(0, 2**31))
def test_they_are_of_tables_that_java_wrote(spark: SparkSession, golden: Path, case: str, seed: int) -> None:
    with _copied(spark, golden / case) as tables:
        for table in tables:
            check = check_of(spark, table, Random(seed), 6)
            error = Runner(spark).again(Story((check,))) if check is not None else None
            assert error is None, error


@contextmanager
def _copied(spark: SparkSession, case: Path) -> Iterator[list[str]]:
    """The names of a golden case's tables, in a catalog of their own."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(case / "warehouse", folder, dirs_exist_ok=True)
        spark.sql(f"CREATE CATALOG java_wrote WITH ('type' = 'paimon', 'warehouse' = '{folder}')")
        try:
            places = sorted(path.parts for path in Path(folder).glob("*.db/*/schema"))
            yield [f"java_wrote.{parts[-3].removesuffix('.db')}.`{parts[-2]}`" for parts in places]
        finally:
            spark.sql("DROP CATALOG java_wrote")
