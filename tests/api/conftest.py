"""Catalogs and tables of the Python API."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import paimon_sql
from paimon_sql.api.catalog import Catalog
from paimon_sql.api.table import Table

ORDERS = pa.schema(
    [
        ("id", pa.int64()),
        ("day", pa.string()),
        ("amount", pa.float64()),
        ("note", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("paid", pa.bool_()),
    ]
)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    opened = paimon_sql.open_catalog(tmp_path / "warehouse")
    opened.create_database("shop")
    return opened


@pytest.fixture
def keyed(catalog: Catalog) -> Table:
    """A table with a primary key and partitions."""
    options = {"bucket": "2"}
    return catalog.create_table(
        "shop.keyed", ORDERS, primary_key=["id", "day"], partition_by=["day"], options=options, comment="by key"
    )


@pytest.fixture
def plain(catalog: Catalog) -> Table:
    """An append table."""
    return catalog.create_table("shop.plain", ORDERS)
