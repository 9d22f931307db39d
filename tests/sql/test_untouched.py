"""Text that holds nothing of ours goes to Spark as it is: the very same string."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from paimon_sql.sql.rewrite import RewriteContext, rewrite

HOSTILE = [
    "",
    ";",
    "-- nothing",
    "/* nothing */",
    "SELEC * FROM t",
    "SELECT 'FROM t$files', \"t$snapshots\", 'OPTIONS(', 'it''s /* not */ one' FROM t",
    "SELECT 1 AS `a$b`, 2 AS `x$snapshots`",
    "SELECT length('a\\'b$files'), concat('$', 'files'), r'raw$files\\'",
    "SELECT id -- FROM t$snapshots /*+ OPTIONS('x'='y') */\nFROM t /* t$files; WITH ('a'='b') */ -- done;",
    "/* /* t$files */ OPTIONS('a'='b') */ SELECT 1",
    "SELECT /*+ BROADCAST(n), REPARTITION(2) */ * FROM t",
    "SELECT transform(a, x -> x + 1), aggregate(a, 0, (acc, x) -> acc + x) FROM t",
    "FROM t |> WHERE a > 1 |> AGGREGATE sum(a) AS s GROUP BY b |> ORDER BY b",
    "SELECT * EXCEPT (a, b) FROM t",
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT sum(i) FROM n",
    "WITH updates AS (SELECT 1 AS deleted) SELECT * FROM updates",
    "SELECT * FROM t PIVOT (sum(a) FOR k IN ('x' AS xx)) UNPIVOT (v FOR c IN (xx))",
    "SELECT * FROM t VERSION AS OF 1",
    "SELECT * FROM t FOR SYSTEM_TIME AS OF now() - INTERVAL 1 DAY AS x",
    "SELECT get_json_object('{\"a$b\": 1}', '$.a$b')",
    "SELECT ${hiveconf:x} + 1",
    "SELECT id FROM IDENTIFIER('sa' || 'les') WHERE id = :x AND k = ?",
    "EXECUTE IMMEDIATE 'DELETE FROM t WHERE id = ?' USING 5",
    "DECLARE OR REPLACE VARIABLE v INT DEFAULT 3",
    "SET VAR v = (SELECT max(id) FROM t)",
    "SET spark.paimon.scan.snapshot-id = 2",
    "SET `spark.paimon.*.*.t.scan.snapshot-id` = 1",
    "SET spark.x = 'it''s'",
    "SET x = a$b",
    "RESET `spark.paimon.scan.tag-name`",
    "ADD JAR /path/with$dollar's/x.jar",
    "BEGIN DECLARE x INT DEFAULT 1; IF x = 1 THEN SELECT 1; ELSE SELECT CASE WHEN x THEN 2 END; END IF; END",
    "CREATE TEMPORARY VIEW v (i, d) COMMENT 'x' AS SELECT id, a * 2 FROM t",
    "CREATE OR REPLACE TEMPORARY FUNCTION f(x INT) RETURNS INT RETURN x + 1",
    "CREATE TABLE t (a INT NOT NULL COMMENT 'with ()', b STRUCT<x: INT>) USING paimon TBLPROPERTIES ('k' = 'v')",
    "CREATE TABLE t (a TIMESTAMP, b BINARY, row INT, bytes STRING, zone STRING, `primary` INT, precision INT)",
    "CREATE TABLE t (a TIMESTAMP) TBLPROPERTIES ('primary-key' = 'a')",
    "CREATE TABLE t (a INT DEFAULT NULL, b INT GENERATED ALWAYS AS (a + 1), c STRING COLLATE UTF8_LCASE)",
    "CREATE TABLE t AS WITH s AS (SELECT 1 AS a) SELECT * FROM s",
    "CREATE TABLE t (WITH s AS (SELECT CAST(NULL AS ARRAY<INT>)) SELECT * FROM s)",
    "CREATE TABLE spark_catalog.db.t (a INT, PRIMARY KEY (a) NOT ENFORCED)",
    "CREATE DATABASE d COMMENT 'x' WITH DBPROPERTIES ('a' = 'b')",
    "ALTER TABLE t ADD COLUMNS (a INT AFTER b)",
    "ALTER TABLE t ALTER COLUMN a TYPE BIGINT",
    "ALTER TABLE t DROP COLUMN IF EXISTS a",
    "ALTER TABLE t RENAME COLUMN a TO b",
    "ALTER TABLE t RENAME TO u",
    "ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')",
    "ALTER TABLE t DROP CONSTRAINT c",
    "ALTER TABLE spark_catalog.db.t SET ('a' = 'b')",
    "CALL sys.create_tag(table => 'db.t', tag => 'x', snapshot => 1)",
    "CALL sys.expire_snapshots('db.t', 2)",
    "CALL other.sys.rollback_to('t', 1)",
    "DELETE FROM spark_catalog.db.t WHERE a = 1",
    "DELETE FROM spark_catalog.t",
    "UPDATE hive.db.t SET a = 1",
    "MERGE INTO hive.db.t USING s ON t.a = s.a WHEN MATCHED THEN DELETE",
    "DELETE FROM IDENTIFIER('a' || 'b')",
    "INSERT INTO t VALUES (1), (2)",
    "INSERT OVERWRITE t PARTITION (a = 1) SELECT * FROM s",
    "SHOW TABLES LIKE 't*'",
    "SHOW TAGS spark_catalog.db.t",
    "SHOW CREATE TABLE t",
    "DESCRIBE EXTENDED t",
    "USE paimon.db",
    "EXPLAIN SELECT 1",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_spark_sql_is_untouched(text: str, context: RewriteContext) -> None:
    assert rewrite(text, context).sql is text


def test_the_quick_look_and_the_scan_agree(context: RewriteContext) -> None:
    # A comment makes the quick look give way to the scan, which must find nothing either.
    for text in (t for t in HOSTILE if not re.match(r"(SET|ADD|RESET)\b", t)):
        with_comment = text + " /* end */"
        assert rewrite(with_comment, context).sql is with_comment


OURS = re.compile(
    r"""
    [$] | /\*\+\s*OPTIONS | paimon_incremental                                      # inside queries
  | ^\s*(WITH\b.*\b)?(DELETE\s+FROM|UPDATE|MERGE\s+(INTO|WITH)|TRUNCATE|ANALYZE|COPY)\b
  | ^\s*SHOW\s+(PARTITIONS|TAGS) | ^\s*(CREATE|USE)\s+CATALOG | ^\s*SET\s+'
  | ^\s*CREATE\b.*\b(PRIMARY\s+KEY|WITH\s*\(|LIKE|BYTES|VARBINARY)
  | ^\s*ALTER\s+TABLE\s+\S+\s+(SET|RESET|ADD|DROP)\s*\(
  | ^\s*ALTER\s+TABLE\s+\S+\s+(MODIFY|(ADD|DROP|RENAME)\s+(?!COLUMN|TO\b))
  | ^\s*ALTER\s+TABLE\s+\S+\s+((CREATE|REPLACE|DELETE).*\bTAG|DROP\s+PARTITION)
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
"""What may be ours, said in another and coarser way than the rewrite does it."""

FLINKS_CALL = re.compile(r"CALL\b.*\b(rollback_to\(|snapshot_id|consumer_id)", re.IGNORECASE | re.DOTALL)
STRINGS_AND_COMMENTS = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"[^\"]*\"|`[^`]*`|--[^\n]*|/\*(?!\+).*?\*/", re.DOTALL)


def test_conformance_statements_without_anything_of_ours_are_untouched(
    conformance: Callable[[str], Iterator[tuple[str, str]]], context: RewriteContext
) -> None:
    plain = [
        text
        for _, text in conformance(".")
        if not OURS.search(STRINGS_AND_COMMENTS.sub(lambda m: "'" if m[0][0] == "'" else "x", text))
        and not FLINKS_CALL.search(text)
    ]
    assert len(plain) > 3_000
    assert [text for text in plain if rewrite(text, context).sql is not text] == []


def test_without_a_paimon_catalog_only_queries_are_touched(
    conformance: Callable[[str], Iterator[tuple[str, str]]],
) -> None:
    context = RewriteContext("spark_catalog", "default", frozenset())
    constructs = re.compile(r"\$|/\*\+|paimon_incremental|CATALOG|SET '", re.IGNORECASE)
    for _, text in conformance("."):
        if not constructs.search(text):
            assert rewrite(text, context).sql is text
