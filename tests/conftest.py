"""Fixtures that every room's tests share: where the shared material stands."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def pytest_configure(config: pytest.Config) -> None:
    """Warnings are errors, but for those that an older PySpark itself gives rise to."""
    if pyspark.__version__.startswith("4.1."):
        # Its DataFrame.collect leaves the socket to the garbage collector.
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared material beside the project."""
    return SHARED


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of golden tables, written by Apache Paimon's own connector."""
    return SHARED / "golden"
