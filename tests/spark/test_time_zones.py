"""Times without a zone in options and arguments are the session's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql import SparkSession

from paimon_sql.errors import InvalidInputError
from paimon_sql.storage.table.time_travel.local_times import zone_of

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(params=["Pacific/Kiritimati", "-11:00"])
def zone(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[tzinfo]:
    """The session's time zone, far from that of any machine that runs the tests."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield zone_of(request.param)
    spark.conf.set("spark.sql.session.timeZone", str(before))


@pytest.fixture
def between(sql: Sql, zone: tzinfo) -> str:
    """A time between two snapshots of a table ``t``, as a clock in the session's zone shows it."""
    sql("CREATE TABLE t (a INT)")
    sql("INSERT INTO t VALUES (1)")
    time.sleep(0.02)
    now = datetime.now(zone).isoformat(" ")[:23]
    time.sleep(0.02)
    sql("INSERT INTO t VALUES (2)")
    return now


def test_options_of_reads_and_sessions_name_times_of_the_session(sql: Sql, spark: SparkSession, between: str) -> None:
    assert sql(f"SELECT * FROM t /*+ OPTIONS('scan.timestamp'='{between}') */") == [(1,)]
    assert spark.read.option("scan.timestamp", between).table("t").count() == 1
    assert sql(f"SELECT a FROM t$audit_log /*+ OPTIONS('scan.timestamp'='{between}') */") == [(1,)]
    spark.conf.set("spark.paimon.scan.timestamp", between)
    try:
        assert sql("SELECT * FROM t") == [(1,)]
        with pytest.raises(Exception, match="no retained snapshot"):
            sql("SELECT * FROM t /*+ OPTIONS('scan.timestamp'='2001-01-01') */")
    finally:
        spark.conf.unset("spark.paimon.scan.timestamp")
    sql(f"ALTER TABLE t SET TBLPROPERTIES ('scan.timestamp'='{between}')")
    assert sql("SELECT * FROM t") == [(1,)]


def test_spans_are_told_in_the_sessions_zone_or_in_milliseconds(sql: Sql, between: str) -> None:
    read = "SELECT * FROM t /*+ OPTIONS('incremental-between-timestamp'='{},{}') */"
    assert sql(read.format(between, "2100-01-01")) == [(2,)]
    assert sql(read.format("2001-01-01", between)) == [(1,)]
    assert sql(read.format(0, 4_000_000_000_000)) == [(1,), (2,)]
    with pytest.raises(Exception, match="'soon' is no point in time"):
        sql(read.format(between, "soon"))


def test_arguments_of_calls_name_times_of_the_session(sql: Sql, between: str) -> None:
    sql("INSERT INTO t VALUES (3)")
    call = "CALL sys.expire_snapshots(table => 't', retain_min => 1, retain_max => 9, older_than => '{}')"
    assert sql(call.format(between))[0][0] == 0
    assert sql(call.format("2100-01-01"))[0][0] == 2


def test_partitions_of_calls_are_those_of_the_sessions_clock(sql: Sql, zone: tzinfo) -> None:
    sql("CREATE TABLE p (a INT, d TIMESTAMP) PARTITIONED BY (d) TBLPROPERTIES ('compaction.min.file-num'='2')")
    for a in range(2):
        sql(f"INSERT INTO p VALUES ({a}, TIMESTAMP '2024-01-01 10:00:00')")
    call = "CALL sys.compact(table => 'p', where => \"d = '2024-01-01 {}:00:00'\")"
    assert sql(call.format(11))[0][1] == 0
    assert sql(call.format(10))[0][1] == 2


def test_zones_have_names_or_offsets() -> None:
    assert zone_of("Europe/Oslo") == ZoneInfo("Europe/Oslo")
    assert zone_of("Z") is timezone.utc
    assert zone_of("-02:30") == timezone(-timedelta(hours=2, minutes=30))
    assert zone_of("+00:00:01") == timezone(timedelta(seconds=1))
    for name in ("Mars/Phobos", "../etc/passwd", ""):
        with pytest.raises(InvalidInputError, match="is no time zone"):
            zone_of(name)


@pytest.mark.parametrize(
    ("condition", "found", "files"),
    [
        ("at = timestamp'2024-10-27 02:30:00'", [1], 1),
        ("at > timestamp'2024-10-27 02:30:00'", [2], 1),
        ("at >= timestamp'2024-10-27 02:30:00' + INTERVAL 1 HOUR", [2], 1),
        ("at < '1600-01-01'", [3], 1),
        ("at IN (timestamp'2024-10-27 02:30:00', timestamp'1500-01-01')", [1, 3], 2),
        ("at IS NULL", [4], 1),
        # What Python does not know is left to Spark.
        ("at < timestamp'+12000-01-01 00:00:00'", [1, 2, 3], 3),
    ],
)
def test_instants_leave_files_out_in_an_hour_that_comes_twice(
    spark: SparkSession, sql: Sql, condition: str, found: list[int], files: int
) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        sql("CREATE TABLE t (a INT, at TIMESTAMP)")
        for row in ("1, timestamp'2024-10-27 02:30:00'", "3, timestamp'1500-01-01 00:00:00'", "4, NULL"):
            sql(f"INSERT INTO t VALUES ({row})")
        sql("INSERT INTO t SELECT 2, timestamp'2024-10-27 02:30:00' + INTERVAL 1 HOUR")
        assert sorted(sql(f"SELECT a FROM t WHERE {condition}")) == [(a,) for a in found]
        plan = str(sql(f"EXPLAIN SELECT a FROM t WHERE {condition}")[0][0])
        assert f"files {files} of 4" in plan
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
