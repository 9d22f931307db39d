"""Spark's own parser takes whatever the rewrite makes, and sees no difference where nothing is ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from paimon_sql.sql.carried_statements import Statement
from paimon_sql.sql.rewrite import RewriteContext, rewrite
from paimon_sql.sql.statements.rows import Assignment, MergeClause
from paimon_sql.sql.text.names import quote_name
from tests.sql.sql_cases import REWRITES, STATEMENTS, pairs, plain
from tests.sql.statement_classes import s

Statements = Callable[[str], Iterator[tuple[str, str]]]


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
    texts: list[tuple[str, str]] = []
    for place, text in conformance(folder):
        if "TYPE = XML" in text:
            continue  # an answer is recorded for that: it is refused
        rewritten = rewrite(text, context)
        texts += [(place, result) for result in (rewritten.sql, rewritten.spark_sql) if result is not None]
    refused = {place: why for place, text in texts if (why := refusal(plan_of, text))}
    assert [place for place in refused if "SELEC " not in place] == []


@pytest.mark.parametrize("text", [text for text in plain() if text.strip("; \n")])
def test_plans_of_plain_spark_sql_are_the_same_before_and_after(
    text: str, plan_of: Callable[[str], str], context: RewriteContext
) -> None:
    why = refusal(plan_of, text)
    assert refusal(plan_of, rewrite(text, context).sql) == why
    if why is None:
        assert plan_of(rewrite(text, context).sql) == plan_of(text)


def test_every_rewritten_case_of_the_other_tests_parses(plan_of: Callable[[str], str], context: RewriteContext) -> None:
    texts = [after for name in REWRITES for _, after in pairs(name)]
    for text, _ in STATEMENTS:
        rewritten = rewrite(text, context)
        texts += filter(None, (rewritten.sql, rewritten.spark_sql))
    assert [(text, why) for text in texts if (why := refusal(plan_of, text))] == []


def test_a_change_put_together_again_has_the_plan_of_the_users_text(
    conformance: Statements, plan_of: Callable[[str], str], context: RewriteContext
) -> None:
    changes = {text for _, text in conformance(".") if re.match(r"DELETE|UPDATE|MERGE", text)}
    seen = 0
    for text in sorted(changes):
        rewritten = rewrite(text, context)
        if rewritten.spark_sql is not None:
            seen += 1
            assert plan_of(put_together(rewritten.statements[0])) == plan_of(re.sub(FIRST_NAME, "x", text, count=1))
    assert seen > 100


FIRST_NAME = r"(?<=^DELETE FROM )\S+|(?<=^UPDATE )\S+|(?<=^MERGE INTO )\S+"


def put_together(statement: Statement) -> str:
    """The SQL of a change, of a table that is called ``x`` whatever it was."""
    assert isinstance(statement, s.DeleteFrom | s.Update | s.MergeInto)
    target = f"x {statement.alias or ''}"
    if isinstance(statement, s.MergeInto):
        source = f"{statement.source} {statement.source_alias or ''}"
        return f"MERGE INTO {target} USING {source} ON {statement.on} " + " ".join(map(clause_sql, statement.clauses))
    where = f" WHERE {statement.where}" if statement.where else ""
    if isinstance(statement, s.DeleteFrom):
        return f"DELETE FROM {target}{where}"
    return f"UPDATE {target} SET {assignments_sql(statement.assignments)}{where}"


def clause_sql(clause: MergeClause) -> str:
    condition = f" AND {clause.condition}" if clause.condition else ""
    action = clause.action.replace("UPDATE *", "UPDATE SET *")
    if clause.action == "UPDATE":
        action = f"UPDATE SET {assignments_sql(clause.assignments)}"
    elif clause.action == "INSERT":
        columns = ", ".join(map(column_sql, clause.assignments))
        action = f"INSERT ({columns}) VALUES ({', '.join(a.value for a in clause.assignments)})"
    return f"WHEN {clause.rows}{condition} THEN {action}"


def assignments_sql(assignments: tuple[Assignment, ...]) -> str:
    return ", ".join(f"{column_sql(a)} = {a.value}" for a in assignments)


def column_sql(assignment: Assignment) -> str:
    return ".".join(map(quote_name, assignment.column))


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
