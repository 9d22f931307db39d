"""One Spark session a worker, as the shared runners get it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from .session import make


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the tables that the SQL files make."""
    return tmp_path_factory.mktemp("conformance")


@pytest.fixture(scope="session")
def spark(warehouse: Path) -> Iterator[SparkSession]:
    """The session that the runners drive."""
    session = make(str(warehouse))
    # Plans that adapt, and several tasks for a shuffle, take half as long again for the same answers.
    for key, value in {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "1"}.items():
        session.conf.set(key, value)
    yield session
