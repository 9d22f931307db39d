"""The examples in the docstrings of the Python API run, each over a new warehouse, and give what they show."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_sql
from paimon_sql.api import catalog, scan, table, views
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.schema.catalog_objects import ViewSchema
from paimon_sql.format.schema.types import BigIntType, DataField

_FINDER = doctest.DocTestFinder(exclude_empty=True)


def _examples() -> Iterator[doctest.DocTest]:
    for module in (catalog, table, scan, views):
        yield from (found for found in _FINDER.find(module) if found.examples)


@pytest.mark.parametrize("example", list(_examples()), ids=lambda example: example.name.rpartition("api.")[2])
def test_an_example_gives_what_it_shows(
    example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    opened = paimon_sql.open_catalog("warehouse")
    opened.create_database("shop")
    columns = pa.schema([("id", pa.int64()), ("day", pa.string()), ("amount", pa.float64())])
    orders = opened.create_table("shop.orders", columns, primary_key=["id"], options={"bucket": "1"})
    orders.append([{"id": 1, "day": "2026-11-01", "amount": 12.5}, {"id": 2, "day": "2026-11-01", "amount": 80.0}])
    orders = opened.table("shop.orders")
    query = "SELECT id FROM shop.orders WHERE amount > 20"
    opened._catalog.create_view(Identifier("shop", "large"), ViewSchema((DataField(0, "id", BigIntType()),), query))
    example.globs.update(paimon_sql=paimon_sql, pa=pa, catalog=opened, orders=orders)
    failed, ran = doctest.DocTestRunner().run(example)
    assert ran and not failed, capsys.readouterr().out
