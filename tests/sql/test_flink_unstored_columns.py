"""Watermarks, computed and metadata columns of Flink's CREATE TABLE are left out, and named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.rewrite import RewriteContext, rewrite

WATERMARK = "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"


@pytest.mark.parametrize(
    ("columns", "stored", "named"),
    [
        (f"a INT, ts TIMESTAMP(6), {WATERMARK}", "a INT, ts TIMESTAMP_NTZ", "WATERMARK FOR ts"),
        (f"{WATERMARK}, ts TIMESTAMP(6)", "ts TIMESTAMP_NTZ", "WATERMARK FOR ts"),
        ("a INT, `b c` AS a + 1 COMMENT 'x, y', d INT", "a INT, d INT", "the computed column b c"),
        ("b AS f(a, ')'), a INT", "a INT", "the computed column b"),
        ("a INT, m STRING METADATA FROM 'k' VIRTUAL, n BIGINT METADATA", "a INT", "the metadata column m"),
        ("a INT, ts AS PROCTIME(), c AS CAST(a AS STRING)", "a INT", "the computed column ts, the computed column c"),
    ],
)
def test_what_is_not_stored_is_left_out(columns: str, stored: str, named: str, context: RewriteContext) -> None:
    rewritten = rewrite(f"CREATE TABLE t ({columns}) WITH ('k' = 'v')", context)
    assert rewritten.sql == f"CREATE TABLE t ({stored}) TBLPROPERTIES ('k' = 'v')"
    (warning,) = rewritten.warnings
    assert f"CREATE TABLE t leaves out {named}" in warning


def test_keys_stay_beside_what_is_left_out(context: RewriteContext) -> None:
    text = (
        f"CREATE TABLE t (a INT, b AS a, PRIMARY KEY (a) NOT ENFORCED, ts TIMESTAMP(6), {WATERMARK}) PARTITIONED BY (a)"
    )
    assert rewrite(text, context).sql == (
        "CREATE TABLE t (a INT, ts TIMESTAMP_NTZ) PARTITIONED BY (a) TBLPROPERTIES ('primary-key' = 'a')"
    )


def test_a_query_gives_the_columns_that_a_watermark_is_for(context: RewriteContext) -> None:
    rewritten = rewrite(f"CREATE TABLE t ({WATERMARK}) WITH ('k' = 'v') AS SELECT ts FROM s", context)
    assert rewritten.sql == "CREATE TABLE t  TBLPROPERTIES ('k' = 'v') AS SELECT ts FROM s"
    assert len(rewritten.warnings) == 1


def test_a_session_can_refuse_them(context: RewriteContext) -> None:
    strict = replace(context, refuses_unstored=lambda: True)
    with pytest.raises(SqlSyntaxError, match="do not store watermarks") as caught:
        rewrite("CREATE TABLE t (a INT, b AS a + 1)", strict)
    assert caught.value.text[caught.value.start : caught.value.end] == "b AS a + 1"
    assert "spark.paimon.create.unstored-columns" in str(caught.value.remedy)


def test_generated_columns_and_columns_of_these_names_are_sparks(context: RewriteContext) -> None:
    for text in (
        "CREATE TABLE t (a INT, b INT GENERATED ALWAYS AS (a + 1))",
        "CREATE TABLE t (watermark INT, metadata INT) USING paimon",
        "CREATE TABLE hive.db.t (a INT, b AS a + 1)",
        "CREATE TABLE t (a STRING DEFAULT CAST(1 AS STRING))",
    ):
        rewritten = rewrite(text, context)
        assert (rewritten.sql, rewritten.warnings) == (text, ())


def test_explain_rewrite_shows_the_warning(context: RewriteContext) -> None:
    assert "('warning', 'CREATE TABLE t leaves out" in repr(
        rewrite("EXPLAIN REWRITE CREATE TABLE t (a INT, b AS a)", context).sql
    )
