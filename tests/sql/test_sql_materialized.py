"""Statements of materialized tables that are refused, and where; and what Spark's parser is asked."""

from __future__ import annotations

import pytest

from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.rewrite import RewriteContext, rewrite

MADE = "CREATE MATERIALIZED TABLE t"


@pytest.mark.parametrize(
    ("text", "at", "problem"),
    [
        (f"{MADE} FRESHNESS = INTERVAL '3' WEEK AS SELECT 1", "WEEK", "needs a unit"),
        (f"{MADE} FRESHNESS = INTERVAL '0' DAY AS SELECT 1", "'0'", "integer number"),
        (f"{MADE} FRESHNESS = INTERVAL '1.5' DAY AS SELECT 1", "'1.5'", "integer number"),
        (f"{MADE} FRESHNESS = '3' DAY AS SELECT 1", "'3'", "needs an interval"),
        (f"{MADE} REFRESH_MODE = NONE AS SELECT 1", "NONE", "CONTINUOUS or FULL"),
        (f"{MADE} (a INT) AS SELECT 1", "INT", "types cannot be specified"),
        (f"{MADE} DISTRIBUTED BY (a) AS SELECT 1", "DISTRIBUTED", "needs AS and a query"),
        (f"{MADE} COMMENT 'a' COMMENT 'b' AS SELECT 1", "COMMENT 'b'", "twice"),
        (f"{MADE} WITH 'a' AS SELECT 1", "'a'", "parentheses"),
        (f"{MADE} PARTITIONED BY a AS SELECT 1", "a AS", "column names"),
        (f"{MADE} AS INSERT INTO x SELECT 1", "INSERT", "defined by a query"),
        (f"{MADE} AS SELECT :x", ":x", "parameters"),
        (f"{MADE} AS SELECT a FROM b WHERE c = ?", "?", "parameters"),
        ("CREATE OR REPLACE MATERIALIZED TABLE t AS SELECT 1", "OR", "cannot be replaced"),
        ("ALTER MATERIALIZED TABLE t RENAME TO x", "RENAME", "Unsupported change"),
        ("ALTER MATERIALIZED TABLE t SUSPEND now", "now", "Expected the end"),
        ("ALTER MATERIALIZED TABLE t REFRESH PARTITION (a = b)", "b)", "literal"),
        ("ALTER MATERIALIZED TABLE t REFRESH PARTITION ()", "()", "columns and values"),
        ("SHOW MATERIALIZED TABLES LIKE x", "x", "string in quotes"),
    ],
)
def test_a_mistake_is_told_at_its_place(text: str, at: str, problem: str, context: RewriteContext) -> None:
    with pytest.raises(SqlSyntaxError, match=problem) as caught:
        rewrite(text, context)
    assert caught.value.start == text.rindex(at)


def test_a_statement_without_its_query_says_what_is_missing(context: RewriteContext) -> None:
    with pytest.raises(SqlSyntaxError, match="needs AS and a query"):
        rewrite(f"{MADE} COMMENT 'a'", context)


def test_spark_parses_the_query_alone_at_its_place(context: RewriteContext) -> None:
    text = f"{MADE}\n  AS SELECT a\nFROM b"
    assert rewrite(text, context).spark_sql == " " * len(MADE) + "\n     SELECT a\nFROM b"
    script = f"BEGIN SELECT 1; {MADE} AS SELECT 2; END"
    assert rewrite(script, context).spark_sql == f"BEGIN SELECT 1; {' ' * len(f'{MADE} AS ')}SELECT 2; END"


def test_tables_of_other_catalogs_are_for_spark(context: RewriteContext) -> None:
    text = "DROP MATERIALIZED TABLE spark_catalog.db.t"
    assert rewrite(text, context).sql == text
