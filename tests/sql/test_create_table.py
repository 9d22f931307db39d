"""CREATE TABLE in Flink's spelling becomes Spark's by small edits."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paimon_sql.sql.statements import CreateTableLike, Statement

CASES = [
    # keys
    ("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, b INT)", "CREATE TABLE t (a INT, b INT) TBLPROPERTIES ('primary-key' = 'a')"),
    ("create table t (a int primary key, b int)", "create table t (a int, b int) TBLPROPERTIES ('primary-key' = 'a')"),
    ("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED COMMENT 'x')", "CREATE TABLE t (a INT COMMENT 'x') TBLPROPERTIES ('primary-key' = 'a')"),
    ("CREATE TABLE t (a INT, `b c` INT, PRIMARY KEY (a, `b c`) NOT ENFORCED)", "CREATE TABLE t (a INT, `b c` INT) TBLPROPERTIES ('primary-key' = 'a,b c')"),
    ("CREATE TABLE t (PRIMARY KEY (a) NOT ENFORCED, a INT)", "CREATE TABLE t (a INT) TBLPROPERTIES ('primary-key' = 'a')"),
    ("CREATE TABLE t (a INT, CONSTRAINT pk PRIMARY KEY (a) NOT ENFORCED, b INT)", "CREATE TABLE t (a INT, b INT) TBLPROPERTIES ('primary-key' = 'a')"),
    ("CREATE TABLE t (a INT, PRIMARY /* x */ KEY\n(a) NOT ENFORCED RELY)", "CREATE TABLE t (a INT) TBLPROPERTIES ('primary-key' = 'a')"),
    ("CREATE TABLE t (a INT, PRIMARY KEY (`it's`) NOT ENFORCED)", "CREATE TABLE t (a INT) TBLPROPERTIES ('primary-key' = 'it\\'s')"),
    ("CREATE TABLE t (PRIMARY KEY (a) NOT ENFORCED) AS SELECT 1 AS a", "CREATE TABLE t  TBLPROPERTIES ('primary-key' = 'a') AS SELECT 1 AS a"),
    ("CREATE TABLE t (a INT, PRIMARY KEY (a) NOT ENFORCED) USING paimon TBLPROPERTIES ('k' = 'v')", "CREATE TABLE t (a INT) USING paimon TBLPROPERTIES ('k' = 'v', 'primary-key' = 'a')"),
    ("CREATE TABLE t (a INT, CHECK (a > 1), PRIMARY KEY (a) NOT ENFORCED, CONSTRAINT u UNIQUE (a))", "CREATE TABLE t (a INT, CHECK (a > 1), CONSTRAINT u UNIQUE (a)) TBLPROPERTIES ('primary-key' = 'a')"),
    # clauses
    ("CREATE TABLE t (a INT) WITH ('k' = 'v')", "CREATE TABLE t (a INT) TBLPROPERTIES ('k' = 'v')"),
    ("CREATE TABLE t (a INT)with('k'='v');", "CREATE TABLE t (a INT)TBLPROPERTIES('k'='v');"),
    ("CREATE TABLE IF NOT EXISTS paimon.x.t (a INT) COMMENT 'WITH (1)' WITH ('k' = 'v')", "CREATE TABLE IF NOT EXISTS paimon.x.t (a INT) COMMENT 'WITH (1)' TBLPROPERTIES ('k' = 'v')"),
    ("CREATE OR REPLACE TABLE t (a INT) WITH ('k' = 'v')", "CREATE OR REPLACE TABLE t (a INT) TBLPROPERTIES ('k' = 'v')"),
    ("REPLACE TABLE t (a INT) WITH ('k' = 'v')", "REPLACE TABLE t (a INT) TBLPROPERTIES ('k' = 'v')"),
    ("CREATE TABLE t WITH ('type' = 'object-table')", "CREATE TABLE t TBLPROPERTIES ('type' = 'object-table')"),
    ("CREATE TABLE t (a INT) PARTITIONED BY (a) WITH ('k' = 'v') COMMENT 'x'", "CREATE TABLE t (a INT) PARTITIONED BY (a) TBLPROPERTIES ('k' = 'v') COMMENT 'x'"),
    ("CREATE TABLE t (a INT) WITH ('k' = 'v') TBLPROPERTIES ('l' = 'w')", "CREATE TABLE t (a INT)  TBLPROPERTIES ('l' = 'w', 'k' = 'v')"),
    ("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED) WITH (\n 'k' = 'v' -- why\n)", "CREATE TABLE t (a INT) TBLPROPERTIES (\n 'k' = 'v' -- why\n, 'primary-key' = 'a')"),
    ("CREATE TABLE t (a INT) WITH () ", "CREATE TABLE t (a INT)  "),
    ("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED) WITH ()", "CREATE TABLE t (a INT) TBLPROPERTIES ('primary-key' = 'a')"),
    ("CREATE TABLE t (a INT, b INT) WITH ('partition' = 'a, b', 'k' = 'v')", "CREATE TABLE t (a INT, b INT) PARTITIONED BY (`a`, `b`) TBLPROPERTIES ('k' = 'v')"),
    ("EXPLAIN CREATE TABLE t (a INT) WITH ('k' = 'v')", "EXPLAIN CREATE TABLE t (a INT) TBLPROPERTIES ('k' = 'v')"),
    ("CREATE TABLE IDENTIFIER('db.t') (a INT) WITH ('k' = 'v')", "CREATE TABLE IDENTIFIER('db.t') (a INT) TBLPROPERTIES ('k' = 'v')"),
    # queries
    ("CREATE TABLE t WITH ('partition' = 'a') AS SELECT 1 AS a", "CREATE TABLE t PARTITIONED BY (`a`) AS SELECT 1 AS a"),
    ("CREATE TABLE t WITH ('k' = 'v') AS WITH s AS (SELECT * FROM x$files) SELECT * FROM s", "CREATE TABLE t TBLPROPERTIES ('k' = 'v') AS WITH s AS (SELECT * FROM `x$files`) SELECT * FROM s"),
    ("CREATE TABLE t WITH ('k' = 'v') WITH s AS (SELECT 1) SELECT * FROM s", "CREATE TABLE t TBLPROPERTIES ('k' = 'v') WITH s AS (SELECT 1) SELECT * FROM s"),
    ("CREATE TABLE t WITH ('k' = 'v') AS SELECT * FROM s /*+ OPTIONS('a'='b') */", "CREATE TABLE t TBLPROPERTIES ('k' = 'v') AS SELECT * FROM s WITH ('a'='b')"),
    # types
    ("CREATE TABLE t (a BYTES)", "CREATE TABLE t (a BINARY)"),
    ("CREATE TABLE t (a INT NULL, b INT NOT NULL) WITH ('k'='v')", "CREATE TABLE t (a INT, b INT NOT NULL) TBLPROPERTIES ('k'='v')"),
    ("CREATE TABLE t (a INT DEFAULT NULL NULL COMMENT 'x')", "CREATE TABLE t (a INT DEFAULT NULL COMMENT 'x')"),
    ("CREATE TABLE t (a TIMESTAMP) WITH ('k'='v')", "CREATE TABLE t (a TIMESTAMP_NTZ) TBLPROPERTIES ('k'='v')"),
    ("CREATE TABLE t (a TIMESTAMP, b INT PRIMARY KEY NOT ENFORCED)", "CREATE TABLE t (a TIMESTAMP_NTZ, b INT) TBLPROPERTIES ('primary-key' = 'b')"),
    ("CREATE TABLE t (a TIMESTAMP, b BYTES)", "CREATE TABLE t (a TIMESTAMP_NTZ, b BINARY)"),
    ("CREATE TABLE t (a TIMESTAMP, b BYTES) USING paimon", "CREATE TABLE t (a TIMESTAMP, b BINARY) USING paimon"),
    ("CREATE TABLE t (a TIMESTAMP, b INT PRIMARY KEY NOT ENFORCED) TBLPROPERTIES ('k'='v')", "CREATE TABLE t (a TIMESTAMP, b INT) TBLPROPERTIES ('k'='v', 'primary-key' = 'b')"),
    ("CREATE TABLE t (a MAP<INT, INT>, b INT PRIMARY KEY NOT ENFORCED) TBLPROPERTIES ('k'='v')", "CREATE TABLE t (a MAP<INT, INT>, b INT) TBLPROPERTIES ('k'='v', 'primary-key' = 'b')"),
    ("CREATE TABLE t (a VARBINARY(3), b BINARY(2)) USING paimon", "CREATE TABLE t (a BINARY, b BINARY) USING paimon TBLPROPERTIES ('paimon-sql.type.a' = 'VARBINARY(3)', 'paimon-sql.type.b' = 'BINARY(2)')"),
    ("CREATE TABLE t (`a b` TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL COMMENT 'x')", "CREATE TABLE t (`a b` TIMESTAMP_LTZ NOT NULL COMMENT 'x') TBLPROPERTIES ('paimon-sql.type.a b' = 'TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL')"),
    ("CREATE TABLE t (a TIME(3), b INT PRIMARY KEY NOT ENFORCED)", "CREATE TABLE t (a INT, b INT) TBLPROPERTIES ('primary-key' = 'b', 'paimon-sql.type.a' = 'TIME(3)')"),
    ("CREATE TABLE t (a TIME(3))", "CREATE TABLE t (a TIME(3))"),
    ("CREATE TABLE t (a MULTISET<STRING>)", "CREATE TABLE t (a MAP<STRING, INT>) TBLPROPERTIES ('paimon-sql.type.a' = '{\"type\":\"MULTISET\",\"element\":\"STRING\"}')"),
    ("CREATE TABLE t (a INT ARRAY NOT NULL)", "CREATE TABLE t (a ARRAY<INT> NOT NULL)"),
    ("CREATE TABLE t (a ROW(x INT, `y z` CHAR NOT NULL 'it''s'))", "CREATE TABLE t (a STRUCT<`x`: INT, `y z`: CHAR(1) NOT NULL COMMENT 'it\\'s'>)"),
    ("CREATE TABLE t (a ARRAY<INT NOT NULL>)", "CREATE TABLE t (a ARRAY<INT>) TBLPROPERTIES ('paimon-sql.type.a' = '{\"type\":\"ARRAY\",\"element\":\"INT NOT NULL\"}')"),
    ("CREATE TABLE t (a DOUBLE PRECISION, b CHAR, c VARCHAR)", "CREATE TABLE t (a DOUBLE, b CHAR(1), c VARCHAR(1))"),
    ("CREATE TABLE t (a INTERVAL YEAR TO MONTH, b STRING COLLATE UTF8_LCASE, c INT) WITH ('k'='v')", "CREATE TABLE t (a INTERVAL YEAR TO MONTH, b STRING COLLATE UTF8_LCASE, c INT) TBLPROPERTIES ('k'='v')"),
    ("CREATE TABLE t (a INT DEFAULT aggregate(array(1), 0, (x, y) -> x + y), b INT PRIMARY KEY)", "CREATE TABLE t (a INT DEFAULT aggregate(array(1), 0, (x, y) -> x + y), b INT) TBLPROPERTIES ('primary-key' = 'b')"),
    ("CREATE TABLE t (a BIGINT GENERATED ALWAYS AS IDENTITY, b INT GENERATED ALWAYS AS (a + 1), PRIMARY KEY (a))", "CREATE TABLE t (a BIGINT GENERATED ALWAYS AS IDENTITY, b INT GENERATED ALWAYS AS (a + 1)) TBLPROPERTIES ('primary-key' = 'a')"),
    ("CREATE TABLE t (`primary` INT, `key` INT, row BYTES, time STRING, comment STRING) WITH ('k'='v')", "CREATE TABLE t (`primary` INT, `key` INT, row BINARY, time STRING, comment STRING) TBLPROPERTIES ('k'='v')"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), CASES)
def test_flinks_spelling_becomes_sparks(before: str, after: str, sql: Callable[[str], str]) -> None:
    assert sql(before) == after


@pytest.mark.parametrize("before", [before for before, _ in CASES])
def test_what_was_rewritten_once_stays_as_it_is(before: str, sql: Callable[[str], str]) -> None:
    once = sql(before)
    assert sql(once) == once


def test_comments_between_the_clauses_stay_where_they_do_no_harm(sql: Callable[[str], str]) -> None:
    before = "CREATE TABLE t ( -- with ('x')\n  a INT, -- PRIMARY KEY\n  PRIMARY KEY (a) NOT ENFORCED -- the key\n) WITH ('k' = 'v')"
    after = "CREATE TABLE t ( -- with ('x')\n  a INT -- the key\n) TBLPROPERTIES ('k' = 'v', 'primary-key' = 'a')"
    assert sql(before) == after


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("CREATE TABLE a LIKE b", CreateTableLike(("paimon", "db", "a"), ("paimon", "db", "b"))),
        (
            "CREATE TABLE IF NOT EXISTS x.a LIKE hive.y.b TBLPROPERTIES ('k' = 'v') USING paimon LOCATION '/l'",
            CreateTableLike(("paimon", "x", "a"), ("hive", "y", "b"), True, {"k": "v"}, (), "paimon", "/l"),
        ),
        (
            "CREATE TABLE a WITH ('k' = 'v', 'l' = 'w') LIKE b WITH ('k' = 'x') (EXCLUDING OPTIONS INCLUDING ALL)",
            CreateTableLike(
                ("paimon", "db", "a"),
                ("paimon", "db", "b"),
                options={"k": "x", "l": "w"},
                features=("EXCLUDING OPTIONS", "INCLUDING ALL"),
            ),
        ),
    ],
)
def test_like_is_a_statement_of_ours(text: str, statement: Statement, carried: Callable[[str], Statement]) -> None:
    assert carried(text) == statement
