"""Statements inside EXPLAIN and BEGIN .. END are found where they stand."""

from __future__ import annotations

import pytest

from paimon_sql.sql.carried_statements import ExplainChange
from paimon_sql.sql.rewrite import RewriteContext, rewrite
from paimon_sql.sql.statements.rows import DeleteFrom

CHANGES = ["DeleteFrom", "Update"]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("BEGIN DELETE FROM t WHERE a = 1; SELECT 1; UPDATE t SET a = 2; END", CHANGES),
        ("BEGIN\n  IF x THEN DELETE FROM t; ELSEIF y THEN SELECT 1; ELSE UPDATE t SET a = 1; END IF;\nEND;", CHANGES),
        ("lbl: BEGIN WHILE x DO DELETE FROM t; END WHILE; END lbl", ["DeleteFrom"]),
        ("BEGIN NOT ATOMIC LOOP SHOW TAGS t; END LOOP; END", ["ShowTags"]),
        ("BEGIN REPEAT SHOW TAGS t; UNTIL x END REPEAT; END", ["ShowTags"]),
        ("BEGIN MERGE INTO t USING s ON a WHEN MATCHED THEN UPDATE SET a = 1; END", ["MergeInto"]),
        ("BEGIN WITH c AS (SELECT 1) DELETE FROM t WHERE a IN (TABLE c); END", ["DeleteFrom"]),
        ("BEGIN SELECT CASE WHEN a THEN delete ELSE update END FROM t; END", []),
        ("BEGIN DELETE FROM hive.db.t; END", []),
    ],
)  # fmt: skip
def test_statements_in_a_script_are_carried(text: str, kinds: list[str], context: RewriteContext) -> None:
    rewritten = rewrite(text, context)
    assert [type(s).__name__ for s in rewritten.statements] == kinds
    assert rewritten.sql.count("CALL paimon") == len(kinds)


def test_everything_else_in_a_script_stays(context: RewriteContext) -> None:
    text = "BEGIN -- start\n  SELECT * FROM t$ro; DELETE FROM t WHERE a = ';'; /* end */\nEND"
    rewritten = rewrite(text, context)
    before, after = rewritten.sql.split("CALL paimon")
    assert before == "BEGIN -- start\n  SELECT * FROM `t$ro`; "
    assert after.endswith("'); /* end */\nEND")
    assert rewritten.spark_sql == "BEGIN -- start\n  SELECT * FROM `t$ro`; DELETE FROM t WHERE a = ';'; /* end */\nEND"


@pytest.mark.parametrize(
    "words", ["EXECUTE STATEMENT SET BEGIN", "BEGIN STATEMENT SET;", "execute /* a */ statement set begin"]
)
def test_a_statement_set_is_a_script(words: str, context: RewriteContext) -> None:
    inserts = "INSERT INTO {} VALUES (';'); INSERT OVERWRITE u SELECT CASE WHEN a THEN 1 END FROM {};"
    written = inserts.format("t$branch_b", "t /*+ OPTIONS('k' = 'v') */")
    read = inserts.format("`t$branch_b`", "t WITH ('k' = 'v')")
    begin = "begin" if "begin" in words else "BEGIN"
    assert rewrite(f"{words} {written} END;", context).sql == f"{begin} {read} END;"


def test_other_statements_that_begin_like_a_set_stay(context: RewriteContext) -> None:
    for text in ("EXECUTE IMMEDIATE 'SELECT 1'", "BEGIN SELECT 1; END", "EXECUTE STATEMENT x"):
        assert rewrite(text, context).sql == text


@pytest.mark.parametrize("mode", ["", "EXTENDED ", "FORMATTED ", "CODEGEN ", "COST "])
def test_explain_of_a_change_is_a_call_that_explains(mode: str, context: RewriteContext) -> None:
    rewritten = rewrite(f"EXPLAIN {mode}DELETE FROM t", context)
    assert rewritten.sql.startswith("CALL paimon.sys.")
    (statement,) = rewritten.statements
    assert isinstance(statement, ExplainChange)
    assert (statement.mode, statement.statement) == (
        mode.strip().lower() or "simple",
        DeleteFrom(("paimon", "db", "t")),
    )
    assert statement.statement.text == " " * len(f"EXPLAIN {mode}") + "DELETE FROM t"
    assert rewritten.spark_sql == f"EXPLAIN {mode}DELETE FROM t"
