"""Spark's own parser takes whatever the rewrite makes, and sees no difference where nothing is ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sql_cases import FUNCTIONS, HINTS, HOSTILE, NAMES, STATEMENTS, TABLES

from paimon_sql.sql.rewrite import RewriteContext, rewrite

Statements = Callable[[str], Iterator[tuple[str, str]]]
REFUSED_BY_SPARK = {"SELEC * FROM sales"}


def refusal(plan_of: Callable[[str], str], text: str) -> str | None:
    """The first line of what Spark's parser says against a text; None where it takes it."""
    try:
        plan_of(text)
    except Exception as error:
        return str(error).strip().splitlines()[0]
    return None


@pytest.mark.parametrize("folder", ["dialect", "ddl", "time_travel", "dml", "procedures", "system_tables", "catalog"])
def test_every_conformance_statement_parses_after_the_rewrite(
    folder: str, conformance: Statements, plan_of: Callable[[str], str], context: RewriteContext
) -> None:
    refused: list[Any] = []
    for place, text in conformance(folder):
        rewritten = rewrite(text, context)
        for result in filter(None, (rewritten.sql, rewritten.spark_sql)):
            if text not in REFUSED_BY_SPARK and (why := refusal(plan_of, result)):
                refused.append((place, result, why))
    assert refused == []


@pytest.mark.parametrize("text", [t for t in HOSTILE if t.strip(";")])
def test_plans_of_plain_spark_sql_are_the_same_before_and_after(
    text: str, plan_of: Callable[[str], str], context: RewriteContext
) -> None:
    why = refusal(plan_of, text)
    assert refusal(plan_of, rewrite(text, context).sql) == why
    if why is None:
        assert plan_of(rewrite(text, context).sql) == plan_of(text)


def test_every_rewritten_case_of_the_other_tests_parses(plan_of: Callable[[str], str], context: RewriteContext) -> None:
    cases = [before for before, _ in [*NAMES, *HINTS, *FUNCTIONS, *TABLES, *STATEMENTS]]
    results = [rewrite(text, context) for text in cases if "OPTIONS()" not in text]
    texts = [text for r in results for text in (r.sql, r.spark_sql) if text is not None]
    assert [(text, why) for text in texts if (why := refusal(plan_of, text))] == []


@pytest.mark.parametrize(
    ("ours", "plain"),
    [
        ("SELECT * FROM t$files f", "SELECT * FROM `t$files` AS f"),
        ("SELECT * FROM t /*+ OPTIONS('a'='b') */ x", "SELECT * FROM t WITH ('a'='b') x"),
        (
            "SELECT * FROM t /*+ OPTIONS('a'='b') */ FOR SYSTEM_TIME AS OF now() - INTERVAL '1' DAY x",
            "SELECT * FROM t TIMESTAMP AS OF now() - INTERVAL '1' DAY WITH ('a'='b') AS x",
        ),
        ("TABLE t /*+ OPTIONS('a'='b') */", "SELECT * FROM t WITH ('a'='b')"),
        (
            "CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED)",
            "CREATE TABLE t (a INT) TBLPROPERTIES ('primary-key' = 'a')",
        ),
        ("ALTER TABLE t RESET ('a')", "ALTER TABLE t UNSET TBLPROPERTIES ('a')"),
        ("SET 'a.b' = 'c d'", "SET a.b=c d"),
    ],
)
def test_a_construct_means_its_plain_spelling(
    ours: str, plain: str, plan_of: Callable[[str], str], context: RewriteContext
) -> None:
    assert plan_of(rewrite(ours, context).sql) == plan_of(plain)
