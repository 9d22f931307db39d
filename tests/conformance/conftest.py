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
    yield make(str(warehouse))
