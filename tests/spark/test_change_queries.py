"""Spark's own queries of changes: CHANGES FROM VERSION, and ``spark.read.changes``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from paimon_sql.spark.jvm.compat import HAS_CHANGE_QUERIES

Sql = Callable[[str], list[tuple[Any, ...]]]

since_4_2 = pytest.mark.skipif(not HAS_CHANGE_QUERIES, reason="Spark knows no queries of changes")
INSERT, BEFORE, AFTER, DELETE = "insert", "update_preimage", "update_postimage", "delete"


def changes(sql: Sql, of: str, columns: str = "id, v") -> list[tuple[Any, ...]]:
    return sql(f"SELECT {columns}, _change_type, _commit_version FROM t CHANGES FROM {of} ORDER BY 4, 1, 3 DESC, 2")


@since_4_2
@pytest.mark.parametrize("options", ["", ", 'deletion-vectors.enabled'='true'", ", 'file.format'='avro'"])
def test_states_of_a_table_without_a_changelog_are_compared(sql: Sql, options: str) -> None:
    sql(f"CREATE TABLE t (id INT, v STRING, p INT) PARTITIONED BY (p) TBLPROPERTIES ('primary-key'='id,p'{options})")
    sql("INSERT INTO t VALUES (1, 'a', 0), (2, 'b', 0), (3, 'c', 1)")
    sql("INSERT INTO t VALUES (1, 'A', 0), (2, 'b', 0), (4, 'd', 0)")
    sql("DELETE FROM t WHERE id = 2")
    sql("INSERT OVERWRITE t PARTITION (p = 1) VALUES (3, 'C'), (5, NULL)")
    found = changes(sql, "VERSION 1")
    assert [row[:3] for row in found] == [
        *[(1, "a", INSERT), (2, "b", INSERT), (3, "c", INSERT)],
        *[(1, "a", BEFORE), (1, "A", AFTER), (4, "d", INSERT)],
        (2, "b", DELETE),
        *[(3, "c", BEFORE), (3, "C", AFTER), (5, None, INSERT)],
    ]
    (deleted,) = (int(str(row[3])) for row in found if row[2] == DELETE)
    earlier = max(version for row in found if (version := int(str(row[3]))) < deleted)
    assert changes(sql, f"VERSION {earlier} EXCLUSIVE TO VERSION {deleted}") == [(2, "b", DELETE, deleted)]
    assert changes(sql, f"VERSION {deleted} TO VERSION {deleted}") == [(2, "b", DELETE, deleted)]
    net = sql(
        "SELECT id, v, _change_type FROM t CHANGES FROM VERSION 1"
        " WITH ('deduplicationMode' = 'netChanges', 'computeUpdates' = 'true') WHERE p = 0 ORDER BY 1"
    )
    assert net == [(1, "A", INSERT), (4, "d", INSERT)]


@since_4_2
@pytest.mark.parametrize("producer", ["input", "lookup", "full-compaction"])
def test_a_changelog_is_told_as_it_was_written(sql: Sql, spark: SparkSession, producer: str) -> None:
    often = ", 'full-compaction.delta-commits'='1'" if producer == "full-compaction" else ""
    sql(
        "CREATE TABLE t (id INT, v STRING)"
        f" TBLPROPERTIES ('primary-key'='id', 'bucket'='1', 'changelog-producer'='{producer}'{often})"
    )
    sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    sql("INSERT INTO t VALUES (1, 'A')")
    sql("DELETE FROM t WHERE id = 2")
    told = [row[:3] for row in changes(sql, "VERSION 1")]
    first = [(1, "a", INSERT), (2, "b", INSERT)]
    if producer == "input":
        assert told == [*first, (1, "A", INSERT), (2, "b", DELETE)]
    else:
        assert told == [*first, (1, "a", BEFORE), (1, "A", AFTER), (2, "b", DELETE)]
    frame = spark.read.option("startingVersion", "1").changes("t")
    assert [f.name for f in frame.schema][-3:] == ["_change_type", "_commit_version", "_commit_timestamp"]
    assert frame.where("_change_type = 'delete'").select("id").collect() == [(2,)]
    assert frame.where("id = 1 AND v = 'A'").count() == 1


@since_4_2
def test_waiting_rows_are_told_when_they_reach_their_buckets(sql: Sql) -> None:
    options = "'bucket'='-2', 'postpone.batch-write-fixed-bucket'='false', 'postpone.default-bucket-num'='1'"
    sql(f"CREATE TABLE t (id INT, v STRING) TBLPROPERTIES ('primary-key'='id', {options})")
    for value in "ab":
        sql(f"INSERT INTO t VALUES (1, '{value}')")
        sql("CALL sys.compact('t')")
    assert changes(sql, "VERSION 1") == [(1, "a", INSERT, 2), (1, "a", BEFORE, 4), (1, "b", AFTER, 4)]


@since_4_2
def test_rows_that_deletion_vectors_delete_are_told(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, v STRING) TBLPROPERTIES ('deletion-vectors.enabled'='true')")
    sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    sql("DELETE FROM t WHERE id = 1")
    sql("UPDATE t SET v = 'B' WHERE id = 2")
    sql("CALL sys.compact('t')")
    sql("TRUNCATE TABLE t")
    assert [row[:3] for row in changes(sql, "VERSION 2")] == [
        (1, "a", DELETE),
        *[(2, "B", INSERT), (2, "b", DELETE)],
        *[(2, "B", DELETE), (3, "c", DELETE)],
    ]


@since_4_2
def test_rows_without_ids_that_moved_are_told_on_demand(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, v STRING)")
    sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    sql("INSERT INTO t VALUES (3, 'c')")
    sql("DELETE FROM t WHERE id = 1")
    assert [row[:3] for row in changes(sql, "VERSION 1 TO VERSION 2")] == [
        *[(1, "a", INSERT), (2, "b", INSERT)],
        (3, "c", INSERT),
    ]
    with pytest.raises(Exception, match="deduplicationMode"):
        changes(sql, "VERSION 1")
    every = changes(sql, "VERSION 3 WITH ('deduplicationMode' = 'none')")
    assert [row[:3] for row in every] == [(1, "a", DELETE), (2, "b", INSERT), (2, "b", DELETE)]


@since_4_2
def test_tracked_rows_are_known_by_their_ids(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, v STRING) TBLPROPERTIES ('row-tracking.enabled'='true')")
    sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    sql("UPDATE t SET v = 'B' WHERE id = 2")
    sql("DELETE FROM t WHERE id = 1")
    assert [row[:3] for row in changes(sql, "VERSION 2")] == [(2, "B", INSERT), (2, "b", DELETE), (1, "a", DELETE)]
    updates = changes(sql, "VERSION 1 WITH ('computeUpdates' = 'true')", "_ROW_ID, v")
    assert [row[:3] for row in updates][3:] == [(1, "b", BEFORE), (1, "B", AFTER), (0, "a", DELETE)]


@since_4_2
def test_columns_that_were_written_beside_are_told_for_the_rows_that_they_change(sql: Sql) -> None:
    kind = "'row-tracking.enabled'='true', 'data-evolution.enabled'='true', 'deletion-vectors.enabled'='true'"
    sql(f"CREATE TABLE t (id INT, v STRING) TBLPROPERTIES ({kind})")
    sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    sql("UPDATE t SET v = 'B' WHERE id = 2")
    sql("DELETE FROM t WHERE id = 2")
    assert [row[:3] for row in changes(sql, "VERSION 3")] == [(2, "B", DELETE)]
    assert [row[:3] for row in changes(sql, "VERSION 2")] == [(2, "B", INSERT), (2, "b", DELETE), (2, "B", DELETE)]
    assert sql("SELECT id, _change_type FROM t CHANGES FROM VERSION 2 TO VERSION 2 ORDER BY 2") == [
        (2, DELETE),
        (2, INSERT),
    ]
    assert sql("SELECT v FROM t CHANGES FROM VERSION 2 TO VERSION 2 WHERE _change_type = 'insert'") == [("B",)]
    assert sql("SELECT count(*) FROM t CHANGES FROM VERSION 2 TO VERSION 2") == [(2,)]
    sql("ALTER TABLE t ADD COLUMN w INT")
    sql("INSERT INTO t VALUES (4, 'd', 4)")
    sql(
        "MERGE INTO t USING (SELECT 1 AS id UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5) s ON t.id = s.id"
        " WHEN MATCHED AND t.id = 3 THEN DELETE WHEN MATCHED THEN UPDATE SET w = 7"
        " WHEN NOT MATCHED THEN INSERT (id, w) VALUES (s.id, 8)"
    )
    (last,) = sql("SELECT max(snapshot_id) FROM t$snapshots")[0]
    told = sql(f"SELECT id, v, w, _change_type FROM t CHANGES FROM VERSION 5 TO VERSION {last}")
    before = [(1, "a", None, DELETE), (4, "d", 4, DELETE), (3, "c", None, DELETE)]
    after = [(1, "a", 7, INSERT), (4, "d", 7, INSERT), (5, None, 8, INSERT)]
    assert sorted(told, key=str) == sorted([*before, *after], key=str)
    updates = sql(
        f"SELECT id, w, _change_type FROM t CHANGES FROM VERSION 5 TO VERSION {last} WITH ('computeUpdates' = 'true')"
        " WHERE _change_type LIKE 'update%' ORDER BY id, _change_type DESC"
    )
    assert updates == [(1, None, BEFORE), (1, 7, AFTER), (4, 4, BEFORE), (4, 7, AFTER)]


@since_4_2
def test_many_rows_and_blobs_written_beside_are_told(sql: Sql) -> None:
    kind = "'row-tracking.enabled'='true', 'data-evolution.enabled'='true', 'blob-field'='b'"
    sql(f"CREATE TABLE t (id INT, v STRING, b BINARY, p INT) PARTITIONED BY (p) TBLPROPERTIES ({kind})")
    sql(
        "INSERT INTO t SELECT CAST(id AS INT), CAST(id AS STRING), CAST(CAST(id AS STRING) AS BINARY),"
        " CAST(id % 2 AS INT) FROM range(0, 30000, 1, 1)"
    )
    sql("UPDATE t SET v = 'new' WHERE id % 1000 = 0")
    sql("UPDATE t SET b = X'FF' WHERE id = 4001")
    told = sql(
        "SELECT _change_type, count(*), sum(id), count_if(v = 'new'), min(p), max(p) FROM t"
        " CHANGES FROM VERSION 2 TO VERSION 2 GROUP BY 1 ORDER BY 1"
    )
    assert told == [(DELETE, 30, 435000, 0, 0, 0), (INSERT, 30, 435000, 30, 0, 0)]
    told = sql("SELECT id, v, hex(b), _change_type FROM t CHANGES FROM VERSION 3 TO VERSION 3 ORDER BY 4")
    assert told == [(4001, "4001", "34303031", DELETE), (4001, "4001", "FF", INSERT)]
    with pytest.raises(Exception, match=r"columns were changed in files of their own .*CHANGES"):
        sql("SELECT * FROM t /*+ OPTIONS('incremental-between'='1,2') */")


@since_4_2
def test_ranges_by_time_and_at_their_edges(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, v STRING) TBLPROPERTIES ('snapshot.num-retained.min'='1')")
    for i in range(4):
        sql(f"INSERT INTO t VALUES ({i}, 'v')")
    times = [row[0] for row in sql("SELECT CAST(commit_time AS STRING) FROM t$snapshots ORDER BY snapshot_id")]

    def ids(of: str) -> list[object]:
        return [row[0] for row in changes(sql, of)]

    assert ids(f"TIMESTAMP '{times[1]}' TO TIMESTAMP '{times[2]}'") == [1, 2]
    assert ids(f"TIMESTAMP '{times[1]}' EXCLUSIVE TO TIMESTAMP '{times[2]}' EXCLUSIVE") == []
    assert ids("TIMESTAMP '2001-01-01 00:00:00'") == [0, 1, 2, 3]
    assert ids("VERSION 2 EXCLUSIVE TO VERSION 3 EXCLUSIVE") == []
    assert sql("SELECT count(*) FROM t CHANGES FROM VERSION 1 WHERE _commit_version > 2") == [(2,)]
    sql("CALL sys.create_tag(table => 't', tag => 'two', snapshot => 2)")
    assert ids("VERSION 'two' EXCLUSIVE") == [2, 3]
    sql("CALL sys.expire_snapshots(table => 't', retain_max => 2)")
    assert ids("VERSION 3") == [2, 3]
    for of, message in (
        ("VERSION 1", "snapshot 1 are not known"),
        ("VERSION 5", "snapshot 5 are not known"),
        ("VERSION 'none'", "none"),
        ("VERSION 4 TO VERSION 3", "end before they begin"),
    ):
        with pytest.raises(Exception, match=message):
            ids(of)
    with pytest.raises(AnalysisException):
        sql("SELECT * FROM nosuch CHANGES FROM VERSION 1")
    with pytest.raises(Exception, match="no changes of its own"):
        sql("SELECT * FROM t$audit_log CHANGES FROM VERSION 3")


@pytest.mark.smoke
@pytest.mark.skipif(HAS_CHANGE_QUERIES, reason="Spark knows queries of changes")
def test_an_older_spark_is_told_what_it_lacks(sql: Sql) -> None:
    with pytest.raises(Exception, match="CHANGES FROM needs PySpark"):
        sql("SELECT * FROM t CHANGES FROM VERSION 1")
