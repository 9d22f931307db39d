"""The plugin of pytest that tells dbt's fixtures which server to connect to."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="class")
def dbt_profile_target() -> dict[str, object]:
    """The target of all projects; its schema is of each class."""
    return {
        "type": "paimon",
        "method": "thrift",
        "host": os.environ["PAIMON_DBT_HOST"],
        "port": int(os.environ["PAIMON_DBT_PORT"]),
        "user": "root",
        "threads": 2,
    }
