"""Fixtures that every room's tests share: where the shared material stands."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared material beside the project."""
    return SHARED


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of golden tables, written by Apache Paimon's own connector."""
    return SHARED / "golden"
