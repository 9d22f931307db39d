"""Chain tables through SQL: made, written, read, made whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def chain(sql: Sql) -> Sql:
    """Whole on the 9th, with changes on the 10th and 11th; rows are ``(k, n, v, dt)``."""
    sql(
        "CREATE TABLE t (k BIGINT, n BIGINT, v STRING) PARTITIONED BY (dt STRING) TBLPROPERTIES ("
        "'chain-table.enabled'='true', 'primary-key'='dt,k', 'sequence.field'='n', 'bucket-key'='k', 'bucket'='2',"
        "'partition.timestamp-pattern'='$dt', 'partition.timestamp-formatter'='yyyyMMdd')"
    )
    named = "'scan.fallback-snapshot-branch'='snapshot', 'scan.fallback-delta-branch'='delta'"
    with pytest.raises(Exception, match="no such branch"):
        sql(f"ALTER TABLE t SET TBLPROPERTIES ({named})")
    for branch in ("snapshot", "delta"):
        sql(f"CALL sys.create_branch('t', '{branch}')")
    for table in ("t", "`t$branch_snapshot`", "`t$branch_delta`"):
        sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({named})")
    sql("INSERT OVERWRITE `t$branch_snapshot` PARTITION (dt = '20250809') VALUES (1, 1, 'w'), (2, 1, 'w'), (3, 1, 'w')")
    sql("INSERT OVERWRITE `t$branch_delta` PARTITION (dt = '20250810') VALUES (1, 2, 'c10'), (4, 1, 'c10')")
    sql("INSERT INTO `t$branch_delta` VALUES (2, 2, 'gone', '20250811'), (4, 2, 'c11', '20250811')")
    sql("DELETE FROM `t$branch_delta` WHERE k = 2")
    return sql


def test_queries_see_whole_partitions_and_chains(chain: Sql) -> None:
    last = [(1, 2, "c10"), (3, 1, "w"), (4, 2, "c11")]
    assert chain("SELECT k, n, v FROM t WHERE dt = '20250811' ORDER BY k") == last
    assert chain("SELECT dt, count(*) FROM t GROUP BY dt ORDER BY dt") == [
        ("20250809", 3),
        ("20250810", 4),
        ("20250811", 3),
    ]
    assert chain("SELECT count(*) FROM t") == [(10,)] and chain("SELECT max(dt) FROM t WHERE k = 3") == [("20250811",)]
    assert chain("SELECT dt, v FROM t WHERE k = 1 AND dt > '20250809' ORDER BY dt") == [
        ("20250810", "c10"),
        ("20250811", "c10"),
    ]
    hybrid = "SELECT k FROM t WHERE dt = '20250810' UNION ALL SELECT k FROM `t$branch_delta` WHERE dt = '20250810'"
    assert sorted(chain(hybrid)) == [(1,), (1,), (2,), (3,), (4,), (4,)]
    assert chain("SELECT `__paimon_partition`.dt, dt FROM t WHERE k = 3 AND dt = '20250811'") == [("20250811",) * 2]
    assert chain("SHOW PARTITIONS t") == [("dt=20250809",), ("dt=20250810",), ("dt=20250811",)]
    assert chain("SELECT * FROM t TIMESTAMP AS OF '2020-01-01'") == []
    assert "BatchScan parquet" not in str(chain("EXPLAIN SELECT * FROM t WHERE dt = '20250811'")[0][0])


def test_a_partition_that_becomes_whole_reads_as_before(chain: Sql) -> None:
    before = sorted(chain("SELECT * FROM t"))
    assert chain("CALL sys.compact_chain_table('t', 'dt=\"20250811\"')")[0][0] is True
    assert chain("CALL sys.compact_chain_table('t', 'dt=\"20250811\"')")[0][0] is False
    assert sorted(chain("SELECT * FROM t")) == before
    assert len(chain("SELECT * FROM `t$branch_snapshot` WHERE dt = '20250811'")) == 3
    chain("SET spark.paimon.branch = delta")
    chain("INSERT OVERWRITE t PARTITION (dt = '20250811') VALUES (9, 9, 'again')")
    chain("RESET spark.paimon.branch")
    assert chain("SELECT * FROM `t$branch_snapshot` WHERE dt = '20250811'") == []
    assert [row[0] for row in sorted(chain("SELECT k FROM t WHERE dt = '20250811'"))] == [1, 2, 3, 4, 9]
    with pytest.raises(Exception, match="cannot be dropped"):
        chain("ALTER TABLE `t$branch_snapshot` DROP PARTITION (dt = '20250809')")


def test_workers_read_chains_and_sparks_own_reader_whole_partitions(chain: Sql) -> None:
    chain("INSERT INTO `t$branch_snapshot` VALUES (1, 5, 'again', '20250809')")
    plans = {day: str(chain(f"EXPLAIN SELECT * FROM t WHERE dt = '{day}'")[0][0]) for day in ("20250809", "20250810")}
    assert {day: "_tmp_metadata_row_index" in text for day, text in plans.items()} == {
        "20250809": True,
        "20250810": False,
    }
    whole = [(1, 5, "again", "20250809"), (2, 1, "w", "20250809"), (3, 1, "w", "20250809")]
    assert sorted(chain("SELECT * FROM t WHERE dt = '20250809'")) == whole
    assert chain("SELECT k, n, v FROM t WHERE dt = '20250810' ORDER BY k") == [
        (1, 5, "again"),
        (2, 1, "w"),
        (3, 1, "w"),
        (4, 1, "c10"),
    ]


def test_aggregates_are_those_of_the_merged_rows(chain: Sql) -> None:
    query = "SELECT dt, count(*), count(v), sum(n), min(v), max(n) FROM t WHERE v <> 'none' GROUP BY dt"
    assert "groups by dt" in str(chain(f"EXPLAIN {query}")[0][0])
    assert sorted(chain(query)) == [
        ("20250809", 3, 3, 3, "w", 1),
        ("20250810", 4, 4, 5, "c10", 2),
        ("20250811", 3, 3, 5, "c10", 2),
    ]
    assert chain("SELECT min(k), max(k), count(n), min(dt), max(dt) FROM t WHERE dt > '20250809'") == [
        (1, 4, 7, "20250810", "20250811")
    ]
    assert chain("SELECT count(*), max(n) FROM t WHERE dt = '20250811'") == [(3, 2)]
    assert chain("SELECT count(DISTINCT k), max(v) FROM t WHERE dt = '20250811' AND k < 3") == [(1, "c10")]


def test_look_ups_by_key_follow_the_chain(chain: Sql) -> None:
    for key, row in ((1, (2, "c10")), (2, None), (3, (1, "w")), (4, (2, "c11")), (5, None)):
        found = chain(f"SELECT n, v FROM t WHERE k = {key} AND dt = '20250811'")
        assert found == ([row] if row else [])
        assert chain(f"SELECT count(*) FROM t WHERE k = {key} AND dt = '20250811'") == [(len(found),)]
    assert sorted(chain("SELECT dt, n FROM t WHERE k IN (2, 4) AND v <> 'c11'")) == [
        ("20250809", 1),
        ("20250810", 1),
        ("20250810", 1),
    ]


def test_changes_of_rows_are_those_of_the_branch_that_is_named(chain: Sql) -> None:
    before = sorted(chain("SELECT * FROM t"))
    for statement in ("UPDATE t SET v = 'u' WHERE k = 1", "DELETE FROM t WHERE dt = '20250811'", "DELETE FROM t"):
        chain(statement)
        assert sorted(chain("SELECT * FROM t")) == before
    chain("UPDATE `t$branch_delta` SET v = 'u', n = 7 WHERE k = 1")
    chain(
        "MERGE INTO `t$branch_delta` d USING (SELECT * FROM t WHERE dt = '20250811') s ON d.k = s.k AND d.dt = s.dt"
        " WHEN MATCHED THEN UPDATE SET v = 'm', n = 8"
        " WHEN NOT MATCHED AND s.k = 3 THEN INSERT (k, n, v, dt) VALUES (s.k, 9, s.v, s.dt)"
    )
    assert chain("SELECT k, n, v FROM t WHERE dt = '20250811' ORDER BY k") == [(1, 7, "u"), (3, 9, "w"), (4, 8, "m")]
    chain("INSERT OVERWRITE t PARTITION (dt = '20250811') VALUES (5, 1, 'own')")
    chain("UPDATE t SET v = 'changed' WHERE dt >= '20250810'")
    assert chain("SELECT * FROM t WHERE dt = '20250811'") == [(5, 1, "changed", "20250811")]
    chain("DELETE FROM t WHERE dt = '20250811'")
    assert [row[0] for row in chain("SELECT k FROM t WHERE dt = '20250811' ORDER BY k")] == [1, 3, 4]


def test_new_rows_of_the_table_itself_hide_no_others(chain: Sql) -> None:
    before = sorted(chain("SELECT * FROM t"))
    merge = (
        "MERGE INTO t USING (SELECT 8L AS k, '20250809' AS dt) s ON t.k = s.k AND t.dt = s.dt"
        " WHEN NOT MATCHED THEN INSERT (k, n, v, dt) VALUES (s.k, 1, 'm', s.dt)"
    )
    for statement in (
        "INSERT INTO t VALUES (5, 1, 'own', '20250811')",
        "INSERT INTO t VALUES (5, 1, 'own', '20250809'), (6, 1, 'own', '20250601')",
        merge,
    ):
        with pytest.raises(Exception, match=r"rows of partition dt=\d+ would be read instead of all .*branch_delta"):
            chain(statement)
        assert sorted(chain("SELECT * FROM t")) == before
    chain("INSERT INTO t VALUES (6, 1, 'own', '20250601')")
    chain("INSERT INTO t VALUES (7, 1, 'own', '20250601')")
    assert sorted(chain("SELECT * FROM t")) == sorted([*before, (6, 1, "own", "20250601"), (7, 1, "own", "20250601")])
    chain("INSERT OVERWRITE t PARTITION (dt = '20250809') VALUES (5, 1, 'own')")
    chain("INSERT INTO t VALUES (9, 1, 'own', '20250809')")
    assert chain("SELECT k FROM t WHERE dt = '20250809' ORDER BY k") == [(5,), (9,)]


def test_statistics_are_those_of_the_branches(spark: SparkSession, chain: Sql) -> None:
    with pytest.raises(Exception, match=r"t is a chain table.*t\$branch_snapshot or \$branch_delta"):
        chain("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS")
    chain("ANALYZE TABLE `t$branch_snapshot` COMPUTE STATISTICS FOR ALL COLUMNS")
    assert chain("SELECT mergedRecordCount FROM `t$branch_snapshot$statistics`") == [(3,)]
    # Statistics of the own branch are from before it was a chain table.
    chain("ALTER TABLE t UNSET TBLPROPERTIES ('scan.fallback-snapshot-branch')")
    chain("INSERT INTO t VALUES (1, 100, 'own', '20250701')")
    chain("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS n")
    query = "EXPLAIN COST SELECT * FROM t WHERE n < 10"
    spark.conf.set("spark.sql.cbo.enabled", "true")
    try:
        assert "rowCount=0" in str(chain(query)[0][0])
        chain("ALTER TABLE t SET TBLPROPERTIES ('scan.fallback-snapshot-branch'='snapshot')")
        assert "rowCount=0" not in str(chain(query)[0][0])
    finally:
        spark.conf.unset("spark.sql.cbo.enabled")
    assert len(chain("SELECT * FROM t WHERE n < 10")) == 10


def test_system_tables_of_rows_follow_the_chain(chain: Sql) -> None:
    rows = "SELECT rowkind, k, v FROM `t$audit_log` WHERE dt = '20250811' ORDER BY k"
    assert chain(rows) == [("+I", 1, "c10"), ("-D", 2, "gone"), ("+I", 3, "w"), ("+I", 4, "c11")]
    # What was overwritten lies on the deepest level, what was inserted waits for a compaction.
    compacted = "SELECT k, v FROM `t$ro` WHERE dt = '20250811' ORDER BY k"
    assert chain(compacted) == [(1, "c10"), (2, "w"), (3, "w"), (4, "c10")]
    chain("CALL sys.compact('t$branch_delta')")
    assert chain(compacted) == [(1, "c10"), (3, "w"), (4, "c11")]


def test_partitions_with_deletion_vectors_become_whole(sql: Sql) -> None:
    sql(
        "CREATE TABLE t (k BIGINT, n BIGINT, v STRING) PARTITIONED BY (region STRING, dt STRING) TBLPROPERTIES ("
        "'chain-table.enabled'='true', 'primary-key'='region,dt,k', 'sequence.field'='n', 'bucket'='1',"
        "'deletion-vectors.enabled'='true', 'chain-table.chain-partition-keys'='dt',"
        "'partition.timestamp-pattern'='$dt', 'partition.timestamp-formatter'='yyyyMMdd')"
    )
    for branch in ("snapshot", "delta"):
        sql(f"CALL sys.create_branch('t', '{branch}')")
    for table in ("t", "`t$branch_snapshot`", "`t$branch_delta`"):
        named = "'scan.fallback-snapshot-branch'='snapshot', 'scan.fallback-delta-branch'='delta'"
        sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({named})")
    sql("INSERT INTO `t$branch_snapshot` VALUES (1, 1, 'w', 'r', '20250809'), (3, 1, 'w', 'r', '20250809')")
    sql("INSERT INTO `t$branch_delta` VALUES (1, 3, 'd', 'r', '20250810'), (4, 1, 'd', 'r', '20250810')")
    sql("DELETE FROM `t$branch_snapshot` WHERE k = 3")
    sql("DELETE FROM `t$branch_delta` WHERE k = 4")
    assert sql("SELECT k, v FROM t WHERE dt = '20250810'") == [(1, "d")]
    for more in ("", ", overwrite => true"):
        sql(f"CALL sys.compact_chain_table('t', 'dt=\"20250810\"'{more})")
        assert sql("SELECT k, v FROM `t$branch_snapshot` WHERE dt = '20250810'") == [(1, "d")]
