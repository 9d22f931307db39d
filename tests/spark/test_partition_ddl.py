"""Statements about partitions: DROP, ADD, SHOW, MSCK REPAIR TABLE, of ordinary tables and of format tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Sql = Callable[[str], list[tuple[Any, ...]]]

KINDS = ("paimon", "parquet")
ROWS = (
    "(1, 1, '00', 'a'), (2, 1, '00', 'b'), (3, 1, '01', 'a'), (4, 2, '00', 'a'), (5, 2, NULL, 'ü=/x'),"
    " (6, NULL, '01', 'ü')"
)


def made(sql: Sql, kind: str = "paimon") -> None:
    sql(f"CREATE TABLE t (a INT, dt INT, hh STRING, mm STRING) USING {kind} PARTITIONED BY (dt, hh, mm)")
    sql(f"INSERT INTO t VALUES {ROWS}")


def left(sql: Sql) -> list[object]:
    return [a for (a,) in sql("SELECT a FROM t ORDER BY a")]


@pytest.mark.parametrize("kind", KINDS)
def test_full_and_partial_specs_are_dropped_by_one_statement(sql: Sql, kind: str) -> None:
    made(sql, kind)
    sql("ALTER TABLE t DROP PARTITION (dt = 1, hh = '00', mm = 'a'), PARTITION (dt = 2)")
    assert left(sql) == [2, 3, 6]
    if kind == "paimon":
        assert sql("SELECT count(*) FROM t$snapshots WHERE commit_kind = 'OVERWRITE'") == [(1,)]
    sql("ALTER TABLE t DROP PARTITION (hh = '01') PURGE")
    assert left(sql) == [2]
    assert sql("SHOW PARTITIONS t") == [("dt=1/hh=00/mm=b",)]


@pytest.mark.parametrize("kind", KINDS)
def test_nulls_and_escaped_values_are_named_as_any_other(sql: Sql, kind: str) -> None:
    made(sql, kind)
    assert ("dt=2/hh=null/mm=ü%3D%2Fx",) in sql("SHOW PARTITIONS t")
    assert sql("SHOW PARTITIONS t PARTITION (hh = NULL)") == [("dt=2/hh=null/mm=ü%3D%2Fx",)]
    sql("ALTER TABLE t DROP PARTITION (dt = 2, hh = NULL, mm = 'ü=/x')")
    assert left(sql) == [1, 2, 3, 4, 6]
    sql("ALTER TABLE t DROP PARTITION (dt = NULL)")
    assert left(sql) == [1, 2, 3, 4]
    sql("ALTER TABLE t DROP PARTITION (dt = '1', hh = '00', mm = 'a')")
    assert left(sql) == [2, 3, 4]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_there_is_told_by_a_full_spec_and_drops_nothing(sql: Sql, kind: str) -> None:
    made(sql, kind)
    for missing in ("", "PARTITION (dt = 1, hh = '00', mm = 'a'), ", "PARTITION (dt = 1), "):
        with pytest.raises(Exception, match=r"PARTITIONS_NOT_FOUND|has no partition \(dt = 7, hh = '0', mm = 'a'\)"):
            sql(f"ALTER TABLE t DROP {missing}PARTITION (dt = 7, hh = '0', mm = 'a')")
    assert left(sql) == [1, 2, 3, 4, 5, 6]
    sql("ALTER TABLE t DROP PARTITION (dt = 7)")
    sql("ALTER TABLE t DROP IF EXISTS PARTITION (mm = 'zz')")
    assert left(sql) == [1, 2, 3, 4, 5, 6]
    sql("ALTER TABLE t DROP IF EXISTS PARTITION (dt = 7, hh = '0', mm = 'a'), PARTITION (dt = 1)")
    assert left(sql) == [4, 5, 6]
    if kind == "paimon":
        assert sql("SELECT count(*) FROM t$snapshots") == [(2,)]
    with pytest.raises(Exception, match="nosuch"):
        sql("ALTER TABLE t DROP PARTITION (nosuch = 1)")
    with pytest.raises(Exception, match=r"cannot be cast|CAST_INVALID_INPUT"):
        sql("ALTER TABLE t DROP PARTITION (dt = 'x')")
    sql("TRUNCATE TABLE t PARTITION (dt = 7)")
    assert left(sql) == [4, 5, 6]


def test_a_partition_is_added_to_the_catalogs_list_and_by_rows_alone_to_the_table(sql: Sql) -> None:
    made(sql)
    before = sql("SHOW PARTITIONS t")
    sql("ALTER TABLE t ADD PARTITION (dt = 9, hh = 'x', mm = 'ü')")
    sql("ALTER TABLE t ADD IF NOT EXISTS PARTITION (dt = 1, hh = '00', mm = 'a') PARTITION (dt = 9, hh = 'y', mm = '')")
    assert sql("SHOW PARTITIONS t") == before
    with pytest.raises(Exception, match="PARTITIONS_ALREADY_EXIST"):
        sql("ALTER TABLE t ADD PARTITION (dt = 1, hh = '00', mm = 'a')")
    with pytest.raises(Exception, match="LOCATION"):
        sql("ALTER TABLE t ADD PARTITION (dt = 9, hh = 'x', mm = 'ü') LOCATION '/tmp/x'")
    with pytest.raises(Exception, match="must match the partition spec"):
        sql("ALTER TABLE t ADD PARTITION (dt = 9)")
    with pytest.raises(Exception, match="cannot be renamed"):
        sql("ALTER TABLE t PARTITION (dt = 1, hh = '00', mm = 'a') RENAME TO PARTITION (dt = 8, hh = '00', mm = 'a')")


@pytest.mark.parametrize("kind", KINDS)
def test_partitions_need_no_repair(sql: Sql, kind: str) -> None:
    made(sql, kind)
    before = sql("SHOW PARTITIONS t")
    for statement in (
        "MSCK REPAIR TABLE t",
        "REPAIR TABLE t",
        "MSCK REPAIR TABLE t DROP PARTITIONS",
        "MSCK REPAIR TABLE t SYNC PARTITIONS",
        "ALTER TABLE t RECOVER PARTITIONS",
    ):
        assert sql(statement) == []
    assert sql("SHOW PARTITIONS t") == before
    with pytest.raises(Exception, match="nosuch"):
        sql("MSCK REPAIR TABLE nosuch")
    with pytest.raises(Exception, match=r"(?i)syntax"):
        sql("MSCK REPAIR TABLE t NONSENSE")


def test_a_table_without_partitions_has_none_to_drop(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, dt STRING)")
    for statement in (
        "ALTER TABLE t DROP PARTITION (dt = 'x')",
        "ALTER TABLE t DROP PARTITION (dt = 'x'), PARTITION (dt = 'y')",
        "ALTER TABLE t ADD PARTITION (dt = 'x')",
        "SHOW PARTITIONS t",
    ):
        with pytest.raises(Exception, match=r"PARTITIONS_NOT_FOUND|not partitioned"):
            sql(statement)


def test_branches_and_typed_values_are_heeded(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, d DATE, s TIMESTAMP, n DECIMAL(5, 2)) PARTITIONED BY (d, s, n)")
    sql("INSERT INTO t VALUES (1, DATE'2024-06-01', TIMESTAMP'2024-06-01 10:30:01', 1.50), (2, NULL, NULL, NULL)")
    sql("INSERT INTO t VALUES (3, DATE'2024-06-01', TIMESTAMP'2024-06-01 10:30:02', 2)")
    sql("ALTER TABLE t CREATE BRANCH b")
    assert ("d=2024-06-01/s=2024-06-01 10%3A30%3A01/n=1.50",) in sql("SHOW PARTITIONS t")
    sql("INSERT INTO t$branch_b SELECT * FROM t")
    sql("ALTER TABLE t$branch_b DROP PARTITION (d = '2024-06-01', s = '2024-06-01 10:30:01'), PARTITION (n = 2)")
    assert sql("SELECT a FROM t$branch_b") == [(2,)]
    sql("ALTER TABLE t DROP PARTITION (d = DATE'2024-06-01', n = 1.5)")
    assert left(sql) == [2, 3]


def test_tables_are_renamed_by_full_names(sql: Sql) -> None:
    made(sql)
    ((database,),) = sql("SELECT current_database()")
    sql(f"ALTER TABLE paimon.{database}.t RENAME TO paimon.{database}.u")
    assert sql("SELECT count(*) FROM u") == [(6,)]
    sql(f"ALTER TABLE u RENAME TO {database}.`v.w`")
    assert sql("SELECT count(*) FROM `v.w`") == [(6,)]
    sql("ALTER TABLE `v.w` RENAME TO t")
    for target in (f"spark_catalog.{database}.u", f"other.{database}.u", f"paimon.{database}.x.u"):
        with pytest.raises(Exception, match="a name has one database"):
            sql(f"ALTER TABLE t RENAME TO {target}")
    assert left(sql) == [1, 2, 3, 4, 5, 6]


def test_what_a_partition_holds_and_empty_comments_are_shown(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT COMMENT '', b INT, dt STRING) PARTITIONED BY (dt) COMMENT ''")
    sql("INSERT INTO t VALUES (1, 1, 'x'), (2, 2, 'x'), (3, 3, NULL)")
    ((*_, told),) = sql("SHOW TABLE EXTENDED LIKE 't' PARTITION (dt = 'x')")
    assert "Partition Values: [dt=x]" in str(told)
    for figure in ("recordCount: 2", "fileCount: 1", "fileSizeInBytes: ", "lastFileCreationTime: "):
        assert figure in str(told)
    assert ("recordCount", "1", "") in sql("DESCRIBE EXTENDED t PARTITION (dt = NULL)")
    described = sql("DESCRIBE EXTENDED t")
    assert described[:2] == [("a", "int", ""), ("b", "int", None)]
    assert ("Comment", "", "") in described
    sql("ALTER TABLE t UNSET TBLPROPERTIES ('comment')")
    assert not [row for row in sql("DESCRIBE EXTENDED t") if row[0] == "Comment"]
    sql("COMMENT ON TABLE t IS '  '")
    assert ("Comment", "  ", "") in sql("DESCRIBE EXTENDED t")


def test_a_partition_is_described_with_what_its_columns_take(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT NOT NULL, v STRING DEFAULT 'x', n INT, p STRING) PARTITIONED BY (n, p)")
    sql("INSERT INTO t VALUES (1, 'a', 1, 'ü'), (2, 'b', 1, 'ü')")
    told = sql("DESCRIBE FORMATTED t PARTITION (p = 'ü', N = '01')")
    assert ("Partition Values", "[n=1, p=ü]", "") in told and ("recordCount", "2", "") in told
    end = [("", "", ""), ("# Column Default Values", "", ""), ("v", "string", "'x'")]
    assert told[-6:] == [*end, ("", "", ""), ("# Column Not Null", "", ""), ("id", "int", "NOT NULL")]
    assert sql("DESC EXTENDED t PARTITION (n = 1, p = 'ü')") == told
    assert sql("DESC t PARTITION (n = 1, p = 'ü')") == told[: told.index(("", "", ""))]
    for wrong, why in (
        ("n = 1", "must match the partition spec"),
        ("n = 2, p = 'ü'", "(?i)partition"),
        ("x = 1, p = 'ü'", "(?i)column|partition"),
    ):
        with pytest.raises(Exception, match=why):
            sql(f"DESCRIBE EXTENDED t PARTITION ({wrong})")
    sql("CREATE TABLE u (id INT) PARTITIONED BY (p STRING)")
    sql("INSERT INTO u VALUES (1, 'a')")
    assert sql("DESCRIBE EXTENDED u PARTITION (p = 'a')")[-1][0] == "recordCount"
