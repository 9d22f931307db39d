"""Names that someone mistyped: the error shows the name that is most like it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import paimon_sql
from paimon_sql import errors
from paimon_sql.api.catalog import Catalog
from paimon_sql.procedures import call


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    opened = paimon_sql.open_catalog(tmp_path)
    opened.create_database("shop")
    for name in ("orders", "Customers"):
        opened.create_table(f"shop.{name}", pa.schema([("id", pa.int64())]))
    return opened


@pytest.mark.parametrize(
    ("name", "near"), [("shop.ordrs", "orders"), ("shop.customer", "Customers"), ("shp.orders", "shop")]
)
def test_a_table_that_is_misspelt_has_a_suggestion(catalog: Catalog, tmp_path: Path, name: str, near: str) -> None:
    for attempt in (lambda: catalog.table(name), lambda: call(tmp_path, "compact", table=name)):
        with pytest.raises(errors.NotFoundError, match=rf"does not exist.* Did you mean {near}\?$"):
            attempt()


def test_a_name_that_is_like_none_has_no_suggestion(catalog: Catalog) -> None:
    with pytest.raises(errors.NoSuchTableError, match=r"does not exist\.$"):
        catalog.table("shop.zzzzzz")


def test_procedures_and_system_tables_have_suggestions(catalog: Catalog) -> None:
    with pytest.raises(errors.NotFoundError, match=r"Did you mean compact\?"):
        catalog.call("sys.compat")
    with pytest.raises(errors.NotFoundError, match=r"Did you mean snapshots\?"):
        catalog.table("shop.orders").metadata("snapshts")
