"""CREATE, ALTER and REPLACE TABLE through SQL: what is kept, what is shown, what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]

REFUSED_CHANGES = [
    ("ALTER TABLE t DROP COLUMN id", ["'id'", "primary key"]),
    ("ALTER TABLE t RENAME COLUMN p TO q", ["'p'", "partition"]),
    ("ALTER TABLE t ALTER COLUMN id TYPE BIGINT", ["'id'", "primary key"]),
    ("ALTER TABLE t ADD COLUMN n INT NOT NULL", ["'n'", "NOT NULL"]),
    ("ALTER TABLE t ADD COLUMN n INT DEFAULT 1", ["'n'", "SET DEFAULT"]),
    ("ALTER TABLE t SET TBLPROPERTIES ('primary-key' = 'v')", ["primary key"]),
    ("ALTER TABLE t SET TBLPROPERTIES ('bucket-key' = 'v')", ["bucket-key"]),
    ("ALTER TABLE t SET TBLPROPERTIES ('merge-engine' = 'first-row')", ["merge-engine"]),
    ("ALTER TABLE t SET TBLPROPERTIES ('snapshot.num-retained.maxx' = '9')", ["snapshot.num-retained.max'"]),
    ("ALTER TABLE t UNSET TBLPROPERTIES ('bucket')", ["bucket"]),
    ("ALTER TABLE t SET LOCATION '/elsewhere'", ["path"]),
    ("ALTER TABLE t CLUSTER BY (v)", ["clustering.columns"]),
    ("ALTER TABLE `t$snapshots` ADD COLUMN n INT", ["t$snapshots"]),
    ("ALTER TABLE nosuch ADD COLUMN n INT", ["nosuch"]),
]
REFUSED_TABLES = [
    ("CREATE TABLE b (id INT) TBLPROPERTIES ('primary-key' = 'nosuch')", ["primary key", "nosuch"]),
    ("CREATE TABLE b (id INT) PARTITIONED BY (nosuch)", ["nosuch"]),
    ("CREATE TABLE b (id INT, p INT) PARTITIONED BY (p) TBLPROPERTIES ('partition' = 'id')", ["partition"]),
    ("CREATE TABLE b (id INT) PARTITIONED BY (bucket(4, id))", ["bucket(4, id)"]),
    ("CREATE TABLE b (id INT) CLUSTER BY (id)", ["clustering.columns"]),
    ("CREATE TABLE b (id INT) LOCATION '/elsewhere/b'", ["/elsewhere/b", "LOCATION"]),
    ("CREATE TABLE b (id INT) TBLPROPERTIES ('path' = '../../b')", ["../../b"]),
    ("CREATE TABLE b (id INT) USING delta", ["delta"]),
    ("CREATE TABLE `b$c` (id INT)", ["b$c"]),
    ("CREATE TABLE `a/b` (id INT)", ["a/b"]),
    ("CREATE TABLE b (n INT DEFAULT 'text')", ["n"]),
    ("CREATE TABLE b (d DATE DEFAULT current_date())", ["'d'", "constant"]),
]


@pytest.fixture
def stored(spark: SparkSession, sql: Sql) -> Callable[[str], dict[str, Any]]:
    """Reads the newest schema file of a table of the current database."""
    warehouse = Path(str(spark.conf.get("spark.sql.catalog.paimon.warehouse")).removeprefix("file:"))
    database = str(sql("SELECT current_database()")[0][0])

    def read(table: str) -> dict[str, Any]:
        folder = warehouse / f"{database}.db" / table / "schema"
        newest = max(folder.iterdir(), key=lambda file: int(file.name.removeprefix("schema-")))
        found: dict[str, Any] = json.loads(newest.read_text())
        return found

    return read


def names(sql: Sql, table: str) -> list[object]:
    return [row[0] for row in sql(f"SHOW COLUMNS IN {table}")]


def refusal(sql: Sql, statement: str) -> str:
    with pytest.raises(Exception) as refused:
        sql(statement)
    message = str(refused.value)
    assert "Traceback" not in message
    assert "\tat " not in message, message
    return message


def test_one_alter_makes_one_version(sql: Sql, stored: Callable[[str], dict[str, Any]]) -> None:
    sql("CREATE TABLE t (id INT, name STRING) TBLPROPERTIES ('primary-key' = 'ID', 'bucket' = '1')")
    sql("ALTER TABLE t ADD COLUMNS (a INT COMMENT 'first' FIRST, b STRUCT<x: INT> AFTER id)")
    schema = stored("t")
    assert schema["id"] == 1
    assert schema["primaryKeys"] == ["id"]
    assert [(f["name"], f["id"]) for f in schema["fields"]] == [("a", 2), ("id", 0), ("b", 3), ("name", 1)]
    assert schema["highestFieldId"] == 4
    assert names(sql, "t") == ["a", "id", "b", "name"]


def test_columns_are_found_whatever_their_letter_case(sql: Sql) -> None:
    sql("CREATE TABLE t (Id INT, V STRUCT<X: INT>)")
    sql("ALTER TABLE t ALTER COLUMN ID COMMENT 'the id'")
    sql("ALTER TABLE t ADD COLUMN v.y INT")
    sql("ALTER TABLE t RENAME COLUMN v.x TO z")
    assert sql("DESCRIBE t") == [("Id", "int", "the id"), ("V", "struct<z:int,y:int>", None)]
    assert "already exists" in refusal(sql, "ALTER TABLE t ADD COLUMN ID STRING").replace(
        "ALREADY_EXISTS", "already exists"
    )


def test_nested_columns_change(sql: Sql, stored: Callable[[str], dict[str, Any]]) -> None:
    sql("CREATE TABLE t (a ARRAY<STRUCT<p: INT>>, m MAP<STRING, STRUCT<q: INT, r: INT>>)")
    sql("ALTER TABLE t ADD COLUMN a.element.n STRING FIRST")
    sql("ALTER TABLE t ALTER COLUMN m.value.q TYPE BIGINT")
    sql("ALTER TABLE t ALTER COLUMN m.value.q AFTER r")
    sql("ALTER TABLE t ALTER COLUMN a.element.p COMMENT 'inner'")
    assert stored("t")["fields"][0]["type"]["element"]["fields"][1]["description"] == "inner"
    assert sql("DESCRIBE t") == [
        ("a", "array<struct<n:string,p:int>>", None),
        ("m", "map<string,struct<r:int,q:bigint>>", None),
    ]


def test_a_change_that_would_break_the_table_is_refused_in_one_sentence(sql: Sql) -> None:
    sql(
        "CREATE TABLE t (id INT, p INT, v STRING) PARTITIONED BY (P)"
        " TBLPROPERTIES ('primary-key' = 'id,p', 'bucket' = '1')"
    )
    sql("INSERT INTO t VALUES (1, 1, 'a')")
    for statement, words in REFUSED_CHANGES:
        message = refusal(sql, statement)
        assert all(word in message for word in words), message
    assert names(sql, "t") == ["id", "p", "v"]


def test_the_comment_is_the_tables_own(sql: Sql, stored: Callable[[str], dict[str, Any]]) -> None:
    sql("CREATE TABLE t (id INT) COMMENT 'first'")
    assert stored("t")["comment"] == "first"
    sql("ALTER TABLE t SET TBLPROPERTIES ('comment' = 'second', 'snapshot.time-retained' = '2 h')")
    assert stored("t")["comment"] == "second"
    assert "comment" not in stored("t")["options"]
    sql("ALTER TABLE t UNSET TBLPROPERTIES ('comment')")
    assert "comment" not in stored("t")


def test_a_table_that_cannot_be_is_refused_and_leaves_nothing(sql: Sql) -> None:
    for statement, words in REFUSED_TABLES:
        message = refusal(sql, statement)
        assert all(word in message for word in words), message
    assert sql("SHOW TABLES") == []


def test_a_location_that_is_the_tables_own_is_no_location(sql: Sql, spark: SparkSession) -> None:
    database = sql("SELECT current_database()")[0][0]
    warehouse = spark.conf.get("spark.sql.catalog.paimon.warehouse")
    sql(f"CREATE TABLE t (id INT) LOCATION '{warehouse}/x/../{database}.db/t/'")
    assert names(sql, "t") == ["id"]


def test_exact_types_are_kept(sql: Sql, stored: Callable[[str], dict[str, Any]]) -> None:
    sql("CREATE TABLE t (a TIMESTAMP(3), B VARBINARY(9) NOT NULL, c MULTISET<STRING>, d TIME(0))")
    assert [f["type"] for f in stored("t")["fields"]] == [
        "TIMESTAMP(3)",
        "VARBINARY(9) NOT NULL",
        {"type": "MULTISET", "element": "STRING"},
        "TIME(0)",
    ]
    assert not any("paimon-sql" in key for key in stored("t")["options"])


def test_blobs_and_vectors_are_said_by_options_or_comments(sql: Sql, stored: Callable[[str], dict[str, Any]]) -> None:
    sql(
        "CREATE TABLE t (id INT, b BINARY, e ARRAY<FLOAT>) TBLPROPERTIES ('row-tracking.enabled' = 'true',"
        " 'data-evolution.enabled' = 'true', 'blob-field' = 'b', 'vector-field' = 'e', 'field.e.vector-dim' = '3')"
    )
    sql("ALTER TABLE t ADD COLUMN more BINARY COMMENT '__BLOB_FIELD; a picture'")
    fields = stored("t")["fields"]
    assert fields[1]["type"] == "BLOB"
    assert fields[2]["type"] == {"type": "VECTOR", "element": "FLOAT", "length": 3}
    assert (fields[3]["type"], fields[3]["description"]) == ("BLOB", "a picture")
    assert stored("t")["options"]["blob-field"] == "b,more"
    assert "__BLOB_VIEW_FIELD" in refusal(sql, "ALTER TABLE t ADD COLUMN x BINARY COMMENT '__BLOB_NOSUCH'")


def test_a_default_is_taken_where_a_row_has_no_value(sql: Sql) -> None:
    sql(
        "CREATE TABLE t (id INT, s STRING DEFAULT 'it''s', n DECIMAL(6, 2) DEFAULT 9.99, d DATE DEFAULT '2024-02-29',"
        " a ARRAY<STRING> DEFAULT array('x', 'y'), r STRUCT<p: INT, q: DOUBLE> DEFAULT struct(4, 2.5D))"
    )
    sql("INSERT INTO t (id) VALUES (1)")
    sql("INSERT INTO t VALUES (2, DEFAULT, 5, DEFAULT, array('z'), DEFAULT)")
    rows = sql("SELECT id, s, string(n), string(d), a, r.p, r.q FROM t ORDER BY id")
    assert rows == [
        (1, "it's", "9.99", "2024-02-29", ["x", "y"], 4, 2.5),
        (2, "it's", "5.00", "2024-02-29", ["z"], 4, 2.5),
    ]


def test_a_default_that_comes_later_is_not_for_old_rows(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT)")
    sql("INSERT INTO t VALUES (1)")
    sql("ALTER TABLE t ADD COLUMN n INT DEFAULT NULL")
    sql("ALTER TABLE t ALTER COLUMN n SET DEFAULT 7")
    sql("INSERT INTO t (id) VALUES (2)")
    assert sql("SELECT * FROM t ORDER BY id") == [(1, None), (2, 7)]
    sql("ALTER TABLE t ALTER COLUMN n DROP DEFAULT")
    sql("INSERT INTO t (id) VALUES (3)")
    assert sql("SELECT * FROM t ORDER BY id") == [(1, None), (2, 7), (3, None)]


def test_a_new_table_whose_query_fails_is_not_there(sql: Sql) -> None:
    refusal(sql, "CREATE TABLE t AS SELECT assert_true(id < 3), id FROM range(9)")
    assert sql("SHOW TABLES") == []


def test_replace_keeps_the_old_rows_until_the_new_ones_are_there(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    refusal(sql, "REPLACE TABLE t AS SELECT assert_true(id < 1), id FROM t")
    assert sql("SELECT * FROM t ORDER BY id") == [(1, "a"), (2, "b")]
    sql("CREATE OR REPLACE TABLE t AS SELECT id * 10 AS id, upper(v) AS big FROM t")
    assert sql("SELECT * FROM t ORDER BY id") == [(10, "A"), (20, "B")]
    assert sql("SELECT * FROM t VERSION AS OF 1 ORDER BY id") == [(1, "a"), (2, "b")]


def test_replace_gives_a_table_another_key_and_other_buckets(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, v STRING, p STRING) PARTITIONED BY (p) TBLPROPERTIES ('primary-key' = 'id,p')")
    sql("INSERT INTO t VALUES (1, 'a', 'x'), (1, 'b', 'y'), (1, 'c', 'x')")
    sql(
        "CREATE OR REPLACE TABLE t PARTITIONED BY (p) TBLPROPERTIES ('primary-key' = 'v,p', 'bucket' = '2')"
        " AS SELECT v, id, p FROM t"
    )
    sql("INSERT INTO t VALUES ('b', 9, 'y')")
    assert sql("SELECT * FROM t ORDER BY v") == [("b", 9, "y"), ("c", 1, "x")]
    sql(
        "CREATE OR REPLACE TABLE t PARTITIONED BY (p) TBLPROPERTIES ('bucket' = '3', 'bucket-key' = 'id')"
        " AS SELECT id, p FROM t"
    )
    sql("INSERT INTO t VALUES (1, 'x')")
    assert sql("SELECT * FROM t ORDER BY id, p") == [(1, "x"), (1, "x"), (9, "y")]
    sql("CREATE OR REPLACE TABLE t (id INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ('primary-key' = 'id,p')")
    assert sql("SELECT * FROM t") == []
    assert sql("SELECT * FROM t VERSION AS OF 1 ORDER BY v") == [(1, "b", "y"), (1, "c", "x")]
    assert sql("SELECT * FROM t VERSION AS OF 3 ORDER BY v") == [("b", 9, "y"), ("c", 1, "x")]
    assert sql("SELECT * FROM t VERSION AS OF 5 ORDER BY id") == [(1, "x"), (1, "x"), (9, "y")]
    assert [k for (k,) in sql("SELECT commit_kind FROM t$snapshots ORDER BY snapshot_id")] == [
        *("APPEND", "OVERWRITE", "APPEND", "OVERWRITE", "APPEND", "OVERWRITE")
    ]
    sql("CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)")
    sql("INSERT INTO t VALUES (5, 'z')")
    assert sql("SELECT * FROM t") == [(5, "z")]
    assert len(sql("SELECT * FROM t$files")) == 1


def test_replace_never_gives_an_id_again(sql: Sql, stored: Callable[[str], dict[str, Any]]) -> None:
    sql("CREATE TABLE t (id INT, v STRUCT<x: INT>)")
    sql("REPLACE TABLE t (id INT, w STRING)")
    schema = stored("t")
    assert (schema["id"], schema["highestFieldId"]) == (1, 4)
    assert [f["id"] for f in schema["fields"]] == [3, 4]


def test_replace_wants_a_table_that_is_there(sql: Sql) -> None:
    assert "nosuch" in refusal(sql, "REPLACE TABLE nosuch (id INT)")
    assert sql("SHOW TABLES") == []


def test_a_part_of_a_table_is_neither_dropped_nor_renamed(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT)")
    for statement in ("DROP TABLE `t$files`", "ALTER TABLE `t$files` RENAME TO u", "ALTER TABLE t RENAME TO `u$files`"):
        assert "$files" in refusal(sql, statement)
    assert sql("SHOW TABLES") != []


def test_like_takes_all_but_the_rows(sql: Sql, stored: Callable[[str], dict[str, Any]]) -> None:
    sql("CREATE TABLE t (id INT, v TIMESTAMP(3)) COMMENT 'c' WITH ('primary-key' = 'id', 'bucket' = '3')")
    sql("CREATE TABLE twin LIKE t TBLPROPERTIES ('bucket' = '1')")
    twin = stored("twin")
    assert (twin["id"], twin["primaryKeys"], twin["comment"]) == (0, ["id"], "c")
    assert twin["options"]["bucket"] == "1"
    assert twin["fields"] == stored("t")["fields"]
