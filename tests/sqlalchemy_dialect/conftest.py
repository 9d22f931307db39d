"""A Thrift server for each module, and engines of the dialect on it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa
from pyspark import SparkContext
from pyspark.sql import SparkSession
from sqlalchemy.dialects import registry

import paimon_sql
from paimon_sql.spark.thrift.server import HOST, PORT, ThriftServer

_NUMBERS = itertools.count(1)
_SETTINGS = {"spark.master": "local[2]", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}

Connect = Callable[[str], sa.Engine]
"""Makes an engine for what follows the address in a URL."""
ENDLESS = "SELECT count(*) FROM range(0, 1000000000000, 1, 1) WHERE id < 0"
"""A statement that runs until it is stopped."""

# An installed package has an entry point, which a checkout that was installed earlier may lack.
registry.register("paimon", "paimon_sql.sqlalchemy.dialect", "PaimonDialect")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """The session that connections start from, with a second catalog ``archive``."""
    settings = {} if SparkContext._active_spark_context else _SETTINGS
    archive = {
        "spark.sql.catalog.archive": "paimon_sql",
        "spark.sql.catalog.archive.warehouse": str(tmp_path_factory.mktemp("archive")),
        "spark.sql.session.timeZone": "UTC",
    }
    return paimon_sql.connect(tmp_path_factory.mktemp("served"), **settings, **archive)


@pytest.fixture(scope="module")
def server(session: SparkSession) -> Iterator[ThriftServer]:
    """The server."""
    running = ThriftServer(session, {HOST: "127.0.0.1", PORT: "0"})
    yield running
    running.stop()


@pytest.fixture
def connect(server: ThriftServer) -> Iterator[Connect]:
    """Makes engines, which are closed after the test."""
    made: list[sa.Engine] = []

    def make(rest: str = "/default") -> sa.Engine:
        made.append(sa.create_engine(f"paimon://me@{server.host}:{server.port}{rest}"))
        return made[-1]

    yield make
    for engine in made:
        engine.dispose()


@pytest.fixture
def engine(connect: Connect) -> Iterator[sa.Engine]:
    """An engine in a database of the test's own."""
    database = f"d{next(_NUMBERS)}"
    outside = connect("/default")
    with outside.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {database}")
    yield connect(f"/{database}")
    with outside.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {database} CASCADE")
