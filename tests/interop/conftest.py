"""One Spark session, and Java and pypaimon beside it, on one warehouse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests import packages
from tests.conformance.session import make

from . import flink_side
from .flink_side import Flink
from .iceberg_side import RUNTIME, IcebergSpark, JavaIceberg, PyIceberg
from .java import JavaPaimon, available
from .pypaimon_side import PyPaimon


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that both sides work in."""
    return tmp_path_factory.mktemp("interop")


@pytest.fixture(scope="session")
def spark(warehouse: Path) -> Iterator[SparkSession]:
    """Our side."""
    yield make(str(warehouse))


@pytest.fixture(scope="session")
def java(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaPaimon]:
    """Their side."""
    if not available():
        pytest.skip("Java's side needs Maven, which fetches it once, and a JDK")
    side = JavaPaimon(shared / "interop" / "PaimonCheck.java", tmp_path_factory.mktemp("classes"))
    yield side
    side.close()


@pytest.fixture(scope="session")
def pypaimon(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PyPaimon]:
    """A third side, which must be there: it is fetched from the package registry once."""
    side = PyPaimon(warehouse, tmp_path_factory.mktemp("pypaimon"))
    yield side
    side.close()


@pytest.fixture(scope="session")
def pyiceberg() -> Iterator[PyIceberg]:
    """A reader of Iceberg's format, which must be there: it is fetched from the package registry once."""
    side = PyIceberg()
    yield side
    side.close()


@pytest.fixture(scope="session")
def iceberg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaIceberg]:
    """Iceberg's own reader."""
    if not JavaIceberg.available():
        pytest.skip("Iceberg's Java library needs Maven, which fetches it once, and a JDK")
    side = JavaIceberg(tmp_path_factory.mktemp("iceberg"))
    yield side
    side.close()


@pytest.fixture(scope="session")
def iceberg_spark(warehouse: Path) -> Iterator[IcebergSpark]:
    """Spark with Iceberg's runtime."""
    if not packages.available(RUNTIME):
        pytest.skip("Iceberg's runtime for Spark needs Maven, which fetches it once")
    side = IcebergSpark(warehouse)
    yield side
    side.close()


@pytest.fixture(scope="session")
def flink(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flink]:
    """Flink, which is started when it is first asked for."""
    if not flink_side.available():
        pytest.skip("Flink needs Maven, which fetches it once, and a JDK")
    side = Flink(warehouse, tmp_path_factory.mktemp("flink"))
    yield side
    side.close()
