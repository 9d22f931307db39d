"""pandas reads and writes tables."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
from pandas.testing import assert_frame_equal

FRAME = pd.DataFrame(
    {
        "id": [1, 2, 3],
        "name": ["it's", None, "100%"],
        "price": [1.5, np.nan, np.inf],
        "ok": [True, False, True],
        "day": [date(2024, 1, 1), None, date(2024, 1, 3)],
        "local": pd.to_datetime(["2024-01-01 10:00:00.000001", None, "2024-01-03 00:00:00.000000"]),
        "at": pd.to_datetime(["2024-01-01 10:00+01:00", None, "2024-01-03 00:00+01:00"], utc=True),
    }
)


def snapshots(engine: sa.Engine, table: str) -> int:
    """How many commits a table has seen."""
    with engine.connect() as connection:
        return int(connection.exec_driver_sql(f"SELECT count(*) FROM `{table}$snapshots`").scalar_one())


@pytest.mark.parametrize("method", [None, "multi"])
def test_a_frame_is_written_and_read_back(engine: sa.Engine, method: None) -> None:
    FRAME.to_sql("frame", engine, index=False, method=method)
    assert snapshots(engine, "frame") == 1
    read = pd.read_sql_table("frame", engine).sort_values("id", ignore_index=True)
    assert list(read["day"]) == list(pd.to_datetime(FRAME["day"]))  # pandas reads dates so
    assert_frame_equal(read.drop(columns="day"), FRAME.drop(columns="day"), check_dtype=False)
    assert str(read["at"].dtype).endswith("UTC]")


def test_a_query_is_read_with_pythons_types(engine: sa.Engine) -> None:
    FRAME.to_sql("frame", engine, index=False)
    read = pd.read_sql("SELECT id, name, day, local FROM frame WHERE name LIKE '%s' ORDER BY id", engine)
    assert [list(row) for row in read.itertuples(index=False)] == [
        [1, "it's", date(2024, 1, 1), pd.Timestamp("2024-01-01 10:00:00.000001")]
    ]
    by_name = pd.read_sql("SELECT id FROM frame WHERE name = %(name)s", engine, params={"name": "100%"})
    assert list(by_name["id"]) == [3]
    by_text = pd.read_sql(sa.text("SELECT CAST(1.50 AS DECIMAL(5, 2)) AS d, :x AS x"), engine, params={"x": "a'"})
    assert by_text.to_dict("records") == [{"d": Decimal("1.50"), "x": "a'"}]


def test_a_frame_is_appended_to_a_table_or_replaces_it(engine: sa.Engine) -> None:
    FRAME[["id"]].to_sql("frame", engine, index=False)
    with pytest.raises(ValueError, match="already exists"):
        FRAME.to_sql("frame", engine, index=False)
    FRAME[["id"]].to_sql("frame", engine, index=False, if_exists="append")
    assert len(pd.read_sql("SELECT * FROM frame", engine)) == 6
    FRAME[["name"]].to_sql("frame", engine, index=False, if_exists="replace")
    assert sorted(pd.read_sql("frame", engine)["name"].dropna()) == ["100%", "it's"]


def test_an_index_is_a_column(engine: sa.Engine) -> None:
    indexed = pd.DataFrame({"v": [1.5, 2.5]}, index=pd.Index(["a", "b"], name="k"))
    indexed.to_sql("frame", engine)
    read = pd.read_sql_table("frame", engine, index_col="k").sort_index()
    assert_frame_equal(read, indexed, check_index_type=False)


def test_a_frame_appended_to_a_table_with_a_key_replaces_rows(engine: sa.Engine) -> None:
    metadata = sa.MetaData()
    sa.Table("keyed", metadata, sa.Column("id", sa.BigInteger, primary_key=True), sa.Column("v", sa.String))
    metadata.create_all(engine)
    pd.DataFrame({"id": [1, 2], "v": ["a", "b"]}).to_sql("keyed", engine, index=False, if_exists="append")
    pd.DataFrame({"id": [2, 3], "v": ["B", "C"]}).to_sql("keyed", engine, index=False, if_exists="append")
    read = pd.read_sql("SELECT * FROM keyed ORDER BY id", engine)
    assert list(read["v"]) == ["a", "B", "C"]


def test_a_large_frame_is_read_in_parts(engine: sa.Engine) -> None:
    parts = list(pd.read_sql("SELECT id FROM range(25000) ORDER BY id", engine, chunksize=10_000))
    assert [len(part) for part in parts] == [10_000, 10_000, 5_000]
    assert int(pd.concat(parts)["id"].sum()) == 25_000 * 24_999 // 2
