"""ANALYZE TABLE: what Spark counts is kept with the table, and used."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from paimon_sql.errors import CorruptFileError
from paimon_sql.format.statistics.table_statistics import ColumnStatistics, TableStatistics, parse_statistics
from tests.spark.conftest import Sql

_COUNTS = st.none() | st.integers(0, 2**62)
_TEXTS = st.none() | st.text()
_COLUMNS = st.builds(
    ColumnStatistics,
    st.integers(0, 99),
    _COUNTS,
    st.none() | st.text(),
    st.none() | st.text(),
    _COUNTS,
    _COUNTS,
    _COUNTS,
)


@given(
    st.builds(TableStatistics, st.integers(1), st.integers(0), _COUNTS, _COUNTS, st.dictionaries(st.text(), _COLUMNS))
)
def test_statistics_are_read_as_they_were_written(statistics: TableStatistics) -> None:
    assert parse_statistics(statistics.to_json(), "here") == statistics


def test_java_and_we_write_the_same_file(golden: Path) -> None:
    (path,) = golden.glob("statistics/warehouse/*/*/statistics/stat-*")
    text = path.read_text()
    assert json.loads(parse_statistics(text, str(path)).to_json()) == json.loads(text)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"snapshotId": 1, "schemaId": 0, "colStats": {"a": {}}}', '{"snapshotId": "x"}']
)
def test_a_broken_file_is_named(text: str) -> None:
    with pytest.raises(CorruptFileError, match="here"):
        parse_statistics(text, "here")


def _columns(sql: Sql, table: str = "t") -> dict[str, dict[str, object]]:
    (row,) = sql(f"SELECT colstat FROM `{table}$statistics`")
    return dict(json.loads(str(row[0])))


@pytest.mark.smoke
def test_columns_of_all_types_are_looked_at(sql: Sql) -> None:
    sql(
        "CREATE TABLE t (b BOOLEAN, i8 TINYINT, i64 BIGINT, f FLOAT, d DOUBLE, n DECIMAL(20, 3), s STRING, c CHAR(4),"
        " x BINARY, day DATE, at TIMESTAMP, wall TIMESTAMP_NTZ, none INT)"
    )
    sql(
        "INSERT INTO t VALUES"
        " (true, 1, 5000000000, 1.5, -2e10, 12.5, 'ä', 'ab', X'01', DATE '2024-01-01',"
        " TIMESTAMP '2024-01-01 01:02:03.5',"
        "  TIMESTAMP_NTZ '1960-05-06 07:08:09.000001', NULL),"
        " (false, -1, NULL, float('NaN'), 3, -0.001, 'bcd', 'c', X'0203', DATE '1500-03-01', NULL, NULL, NULL)"
    )
    sql("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS")
    found = _columns(sql)
    bounds = {name: (c.get("min"), c.get("max")) for name, c in found.items()}
    assert bounds == {
        "b": ("false", "true"), "i8": ("-1", "1"), "i64": ("5000000000", "5000000000"), "f": ("1.5", "NaN"),
        "d": ("-2.0E10", "3.0"), "n": ("-0.001", "12.500"), "s": (None, None), "c": (None, None), "x": (None, None),
        "day": ("-171605", "19723"), "at": ("2024-01-01 01:02:03.500000",) * 2,
        "wall": ("1960-05-06 07:08:09.000001",) * 2, "none": (None, None),
    }  # fmt: skip
    assert (found["s"]["distinctCount"], found["s"]["maxLen"], found["i64"]["nullCount"]) == (2, 3, 1)
    assert (found["none"]["distinctCount"], found["none"]["nullCount"]) == (0, 2)


def test_rows_are_counted_after_merging(sql: Sql) -> None:
    sql("CREATE TABLE t (k INT, v INT) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    sql("INSERT INTO t VALUES (1, 3)")
    sql("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS V")
    ((snapshot, count, size),) = sql("SELECT snapshot_id, mergedRecordCount, mergedRecordSize FROM `t$statistics`")
    files = sql("SELECT sum(file_size_in_bytes) FROM `t$files`")[0][0]
    assert (snapshot, count, size) == (2, 2, int(files * 2 / 3))
    assert _columns(sql)["v"]["max"] == "3"


def test_a_tag_named_like_the_snapshot_is_not_analyzed_instead(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT)")
    sql("INSERT INTO t VALUES (1)")
    sql("INSERT INTO t VALUES (2)")
    sql("CALL sys.create_tag(table => 't', tag => '2', snapshot => 1)")
    sql("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a")
    assert sql("SELECT snapshot_id, mergedRecordCount FROM `t$statistics`") == [(2, 2)]


def test_statistics_stay_until_the_schema_changes(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT)")
    sql("INSERT INTO t VALUES (1)")
    sql("ANALYZE TABLE t COMPUTE STATISTICS")
    sql("INSERT INTO t VALUES (2)")
    assert sql("SELECT snapshot_id FROM `t$statistics`") == [(1,)]
    sql("ALTER TABLE t ADD COLUMN b INT")
    sql("INSERT INTO t VALUES (3, 3)")
    assert sql("SELECT count(*) FROM `t$statistics`") == [(0,)]
    assert sql("SELECT snapshot_id FROM `t$statistics` VERSION AS OF 3") == [(1,)]
    assert sql("SELECT count(*) FROM `t$statistics` VERSION AS OF 1") == [(0,)]


def test_a_table_without_rows_is_left_as_it_is(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT)")
    sql("ANALYZE TABLE t COMPUTE STATISTICS")
    assert sql("SELECT count(*) FROM `t$snapshots`") == [(0,)]
    sql("INSERT INTO t VALUES (1)")
    sql("DELETE FROM t")
    sql("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS")
    assert sql("SELECT mergedRecordCount, mergedRecordSize FROM `t$statistics`") == [(0, 0)]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("ANALYZE TABLE t PARTITION (p = 1) COMPUTE STATISTICS", "PARTITION is not offered"),
        ("ANALYZE TABLE t COMPUTE STATISTICS NOSCAN", "NOSCAN does not help"),
        ("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS q", "no column q.*Its columns are a, p, xs"),
        ("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS", "Column xs .* no statistics"),
    ],
)
def test_what_cannot_be_analyzed_is_told(sql: Sql, statement: str, message: str) -> None:
    sql("CREATE TABLE t (a INT, p INT, xs ARRAY<INT>) PARTITIONED BY (p)")
    sql("INSERT INTO t VALUES (1, 1, array(1))")
    with pytest.raises(PySparkException, match=message):
        sql(statement)
    assert sql("SELECT count(*) FROM `t$snapshots`") == [(1,)]


def test_the_optimizer_guesses_by_the_statistics(spark: SparkSession, sql: Sql) -> None:
    sql("CREATE TABLE t (a BIGINT, day DATE, n DECIMAL(9, 2), at TIMESTAMP)")
    sql("INSERT INTO t SELECT id, date'2024-01-01' + CAST(id % 100 AS INT), id, timestamp_seconds(id) FROM range(1000)")
    sql("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS")
    spark.conf.set("spark.sql.cbo.enabled", "true")
    try:
        for condition, rows in [
            ("a < 100", 100), ("day = date'2024-01-05'", 10), ("n > 900", 99),
            ("at < timestamp'1970-01-01 00:01:40'", 100),
        ]:  # fmt: skip
            told = str(sql(f"EXPLAIN COST SELECT * FROM t WHERE {condition}")[0][0])
            guess = float(re.findall(r"Filter .*rowCount=([0-9.E+]+)", told)[0])
            assert abs(guess - rows) <= rows // 5 + 2, (condition, guess)
    finally:
        spark.conf.unset("spark.sql.cbo.enabled")
