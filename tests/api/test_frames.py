"""Polars and DuckDB on tables: they read what they need, and see what Spark's rows would be."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from paimon_sql.api import scan
from paimon_sql.api.catalog import Catalog
from paimon_sql.api.polars_source import pushed_down
from paimon_sql.api.table import Table
from paimon_sql.errors import SetupError
from tests.api.test_reads import START, ids, rows

C = pl.col
FILTERS: list[tuple[pl.Expr, str | None]] = [
    (C("id") > 12, "id > 12"),
    (pl.lit(12) < C("id"), "id > 12"),
    ((C("amount") > 2) & (C("note") == "n_1%"), "(amount > 2.0 AND note = n_1%)"),
    ((C("amount") > 2) | (C("note") == "n_1%"), "(amount > 2.0 OR note = n_1%)"),
    (C("note").is_in(["n_1%", "zz"]), "note IN (n_1%, zz)"),
    (~(C("id") < 15), "id >= 15"),
    (C("note").str.starts_with("n_2"), "note LIKE 'n_2%'"),
    (C("at") < START + timedelta(hours=3), "at < 2024-01-01 03:00:00+00:00"),
    (C("amount").is_null() & C("note").is_not_null(), "(amount IS NULL AND note IS NOT NULL)"),
    ((C("id") % 7 == 0) & (C("id") > 4), "id > 4"),
    ((C("id") % 7 == 0) | (C("id") > 4), None),
    (~((C("id") % 7 == 0) & (C("id") > 4)), None),
    (C("id") > 1.5, None),
    (C("id") == C("amount"), None),
    (C("paid"), None),
    (C("note").is_null() | (C("note").str.len_chars() == 4), None),
]


@pytest.mark.parametrize(("condition", "pushed"), FILTERS, ids=[str(condition) for condition, _ in FILTERS])
def test_polars_filters_are_pushed_down_and_exact(keyed: Table, condition: pl.Expr, pushed: str | None) -> None:
    keyed.append(rows(20))
    found = pushed_down(condition, keyed.schema)
    assert (None if found is None else str(found)) == pushed
    whole = pl.DataFrame(keyed.to_arrow())
    lazy = keyed.to_polars().filter(condition).select("note", "id")
    assert lazy.collect().sort("id").equals(whole.filter(condition).select("note", "id").sort("id"))
    assert lazy.head(2).collect().height == min(2, whole.filter(condition).height)


def test_polars_reads_only_the_columns_of_a_query(keyed: Table) -> None:
    keyed.append(rows(20))
    lazy = keyed.to_polars()
    assert "PROJECT 1/6 COLUMNS" in lazy.select("note").explain() or "note" in lazy.select("note").explain()
    assert lazy.select(pl.len()).collect().item() == 20
    sums = lazy.group_by("day").agg(C("amount").sum()).sort("day").collect()
    assert sums["day"].to_list() == ["a", "b", "c"]
    assert keyed.scan("id < 5").to_polars().select(C("id").max()).collect().item() == 4


def test_decimals_and_nested_values_come_whole(catalog: Catalog) -> None:
    schema = pa.schema([("d", pa.decimal128(12, 2)), ("l", pa.list_(pa.int64())), ("s", pa.struct([("x", pa.int8())]))])
    table = catalog.create_table("shop.nested", schema)
    table.append([{"d": Decimal("1.50"), "l": [1, None], "s": {"x": 3}}, {"d": None, "l": None, "s": None}])
    frame = table.to_polars().filter(C("d") > 1).collect()
    assert frame.rows() == [(Decimal("1.50"), [1, None], {"x": 3})]
    assert table.to_duckdb().filter("d > 1").fetchall() == [(Decimal("1.50"), [1, None], {"x": 3})]


def test_duckdb_queries_a_relation_as_often_as_it_likes(keyed: Table) -> None:
    keyed.append(rows(20))
    with duckdb.connect() as connection:
        connection.register("recent", keyed.scan("id >= 10", ["id", "day"]))
        for _ in range(2):
            assert connection.sql("SELECT count(*), min(id) FROM recent").fetchall() == [(10, 10)]
        keyed.append(rows(5, 20))
        assert connection.sql("SELECT count(*) FROM recent").fetchall() == [(15,)]
        joined = keyed.to_duckdb(connection).query("k", "SELECT sum(amount) FROM k JOIN recent USING (id)")
        assert joined.fetchall()[0][0] == sum(r["amount"] for r in rows(25)[10:] if r["amount"] is not None)


def test_frames_of_other_libraries_are_written(keyed: Table) -> None:
    keyed.upsert(pl.DataFrame({"id": [1], "day": ["a"], "at": [datetime(2024, 5, 1, tzinfo=timezone.utc)]}))
    keyed.upsert(duckdb.sql("SELECT 2 AS id, 'a' AS day, true AS paid").to_arrow_table())
    assert ids(keyed.to_arrow()) == [1, 2]
    assert keyed.to_pandas()["day"].tolist() == ["a", "a"]


@pytest.mark.parametrize("library", ["polars", "duckdb"])
def test_a_library_that_is_missing_is_named(keyed: Table, monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setattr(scan, "is_installed", lambda name: False)
    with pytest.raises(SetupError, match=f"{library} is not installed. pip install {library}"):
        getattr(keyed, f"to_{library}")()
