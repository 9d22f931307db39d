"""Chain tables through SQL: made, written, read, made whole."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Sql = Callable[[str], list[tuple[object, ...]]]


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
    assert "BatchScan parquet" not in chain("EXPLAIN SELECT * FROM t WHERE dt = '20250811'")[0][0]


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
