"""One Spark for all tests of the bridge, and a database of its own for each test.

``PAIMON_TEST_MASTER=spark://host:port`` lets them run on a cluster that runs, whose workers have the package.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.spark.scan import path
from tests.newer_rest import NewerRest
from tests.spark.server_lake import Lake, opened

_NUMBERS = itertools.count(1)

Sql = Callable[[str], list[tuple[Any, ...]]]
"""Runs one statement and gives its rows as tuples."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A small Spark whose current catalog is the Paimon catalog ``paimon`` over a new warehouse."""
    session = paimon_sql.connect(
        tmp_path_factory.mktemp("warehouse"),
        **{
            "spark.master": os.environ.get("PAIMON_TEST_MASTER", "local[2]"),
            "spark.ui.enabled": "false",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2",
            "spark.paimon.procedure.results": "full",
        },
    )
    yield session
    session.stop()


@pytest.fixture
def sql(spark: SparkSession) -> Iterator[Sql]:
    """Runs statements in a database that is dropped after the test."""
    database = f"d{next(_NUMBERS)}"
    spark.sql(f"CREATE DATABASE paimon.{database}")
    spark.sql(f"USE paimon.{database}")
    yield lambda text: [tuple(row) for row in spark.sql(text).collect()]
    spark.sql("USE paimon.default")
    spark.sql(f"DROP DATABASE paimon.{database} CASCADE")


@contextmanager
def changed_settings(spark: SparkSession, **settings: str) -> Iterator[None]:
    """Settings that the session does not have otherwise."""
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield
    for key in settings:
        spark.conf.unset(key)


@pytest.fixture
def unchanging_plans(spark: SparkSession) -> Iterator[None]:
    """Small tables are not sent everywhere, and plans stay as they are planned."""
    settings = {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.adaptive.enabled": "false"}
    with changed_settings(spark, **settings):
        yield


@pytest.fixture
def workers_aggregate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers aggregate what Spark's own reader could read, little as it is."""
    monkeypatch.setattr(path, "_AGGREGATED_BYTES", 0)


@pytest.fixture
def server_lake(sql: Sql, newer_rest: NewerRest) -> Iterator[Lake]:
    """A catalog ``lake`` of a server as newer versions are, with a database of the test's own."""
    with opened(sql, newer_rest) as lake:
        yield lake
