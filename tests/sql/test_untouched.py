"""Text that holds nothing of ours goes to Spark as it is: the very same string."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from paimon_sql.sql.rewrite import RewriteContext, rewrite
from tests.sql.sql_cases import plain


@pytest.mark.parametrize("text", plain())
def test_spark_sql_is_untouched(text: str, context: RewriteContext) -> None:
    assert rewrite(text, context).sql is text


def test_the_quick_look_and_the_scan_agree(context: RewriteContext) -> None:
    # A comment makes the quick look give way to the scan, which must find nothing either.
    for text in (t for t in plain() if not re.match(r"(SET|ADD|RESET)\b", t)):
        with_comment = text + " /* end */"
        assert rewrite(with_comment, context).sql is with_comment


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t VALUES (1, 'by name')",
        "-- a\n/* b /* c */ */ INSERT INTO t VALUES (1)",
        "INSERT INTO t BY NAME SELECT 1 AS a, 'by name' AS b",
        "INSERT INTO other.db.t BY NAME SELECT 1 AS a;",
        "/* never closed INSERT INTO t BY NAME SELECT 1",
        "INSERT INTO t VALUES ('x by name', 'never closed)",
    ],
)
def test_inserts_without_anything_of_ours_are_untouched(text: str, context: RewriteContext) -> None:
    assert rewrite(text, context).sql is text


def test_what_is_ours_is_found_in_inserts_behind_comments(context: RewriteContext) -> None:
    merging = replace(context, merges_schema=lambda table: True)
    for before in ("", "-- insert\n", "/* insert */ "):
        assert rewrite(f"{before}INSERT INTO t BY NAME SELECT 1 AS a", merging).statements
        for text in (
            "INSERT INTO t SELECT * FROM s$files",
            "INSERT INTO t BY NAME SELECT * FROM s /*+ OPTIONS('a'='b') */",
        ):
            assert rewrite(before + text, context).sql != before + text
    query = "INSERT INTO t BY NAME SELECT * FROM paimon_incremental_query('s', 1, 2)"
    assert "incremental-between" in rewrite(query, context).sql


OURS = re.compile(
    r"""
    [$] | /\*\+\s*OPTIONS | paimon_incremental                                      # inside queries
  | ^\s*(WITH\b.*\b)?(DELETE\s+FROM|UPDATE|MERGE\s+(INTO|WITH)|TRUNCATE|ANALYZE|COPY)\b
  | ^\s*SHOW\s+(PARTITIONS|TAGS) | ^\s*(CREATE|USE)\s+CATALOG | ^\s*SET\s+'
  | ^\s*CREATE\b.*\b(PRIMARY\s+KEY|WITH\s*\(|LIKE|BYTES|VARBINARY|USING\s+(CSV|JSON|ORC|PARQUET|TEXT))
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
    untouched = [
        text
        for _, text in conformance(".")
        if not OURS.search(STRINGS_AND_COMMENTS.sub(lambda m: "'" if m[0][0] == "'" else "x", text))
        and not FLINKS_CALL.search(text)
    ]
    assert len(untouched) > 3_000
    assert [text for text in untouched if rewrite(text, context).sql is not text] == []


def test_without_a_paimon_catalog_only_queries_are_touched(
    conformance: Callable[[str], Iterator[tuple[str, str]]],
) -> None:
    context = RewriteContext("spark_catalog", "default", frozenset())
    constructs = re.compile(r"\$|/\*\+|paimon_incremental|CATALOG|SET '", re.IGNORECASE)
    for _, text in conformance("."):
        if not constructs.search(text):
            assert rewrite(text, context).sql is text
