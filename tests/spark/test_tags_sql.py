"""Tags and ends by time through SQL: what DDL, hints and procedures do together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Sql = Callable[[str], list[tuple[Any, ...]]]

TAGS = "SELECT tag_name, snapshot_id, time_retained FROM t$tags ORDER BY tag_name"


def test_ddl_and_procedures_make_the_same_tags(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT) TBLPROPERTIES ('tag.default-time-retained' = '2 d')")
    sql("INSERT INTO t VALUES (1)")
    sql("ALTER TABLE t CREATE TAG a")
    sql("ALTER TABLE t CREATE TAG IF NOT EXISTS a RETAIN 5 DAYS")
    sql("CALL sys.create_tag(`table` => 't', tag => 'b', time_retained => '3 d')")
    sql("ALTER TABLE t CREATE TAG `c,d`")
    assert sql(TAGS) == [("a", 1, "PT48H"), ("b", 1, "PT72H"), ("c,d", 1, "PT48H")]
    sql("INSERT INTO t VALUES (2)")
    sql("ALTER TABLE t CREATE OR REPLACE TAG a")
    sql("ALTER TABLE t REPLACE TAG b AS OF VERSION 2 RETAIN 1 DAYS")
    sql("ALTER TABLE t RENAME TAG b TO e")
    assert sql(TAGS) == [("a", 2, "PT48H"), ("c,d", 1, "PT48H"), ("e", 2, "PT24H")]
    sql("ALTER TABLE t DELETE TAG `c,d`")
    sql("ALTER TABLE t DELETE TAG `a,e`")
    assert sql(TAGS) == []


def test_a_hint_brings_a_watermark_by_which_tags_are_made(sql: Sql) -> None:
    sql(
        "CREATE TABLE t (id INT) TBLPROPERTIES ('tag.automatic-creation' = 'watermark',"
        " 'tag.creation-period' = 'hourly')"
    )
    sql("INSERT INTO t VALUES (1)")
    assert sql(TAGS) == []
    sql("INSERT INTO t /*+ OPTIONS('end-input.watermark' = '1717200000000') */ VALUES (2)")
    sql("INSERT INTO t VALUES (3)")
    assert sql("SELECT watermark FROM t$snapshots ORDER BY snapshot_id") == [
        (None,),
        (1717200000000,),
        (1717200000000,),
    ]
    assert sql(TAGS) == [("2024-05-31 23", 2, None)]
    assert sql("SELECT count(*) FROM t VERSION AS OF '2024-05-31 23'") == [(2,)]


def test_updates_and_deletes_end_a_batch_too(sql: Sql) -> None:
    sql(
        "CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ('tag.automatic-creation' = 'batch',"
        " 'tag.batch.customized-name' = 'last', 'snapshot.expire.execution-mode' = 'async')"
    )
    sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    sql("UPDATE t SET id = 3 WHERE id = 1")
    assert sql(TAGS) == [("last", 2, None)]
    sql("DELETE FROM t WHERE id = 9")
    assert sql(TAGS) == [("last", 2, None)]
    assert sql("SELECT id FROM t VERSION AS OF 'last' ORDER BY id") == [(2,), (3,)]
