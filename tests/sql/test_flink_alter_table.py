"""ALTER TABLE in Flink's spelling becomes Spark's where Spark can say it, and a statement of ours where it cannot."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paimon_sql.sql.statements import AddColumns, ColumnChange, ModifyColumns, Statement

T = ("paimon", "db", "t")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ALTER TABLE t SET ('a' = 'b', 'c' = 'd')", "ALTER TABLE t SET TBLPROPERTIES ('a' = 'b', 'c' = 'd')"),
        ("ALTER TABLE x.t set('a' = 'SET (''x'')');", "ALTER TABLE x.t set TBLPROPERTIES('a' = 'SET (''x'')');"),
        ("ALTER TABLE t RESET ('a')", "ALTER TABLE t UNSET TBLPROPERTIES ('a')"),
        ("ALTER TABLE t$branch_b SET ('a' = 'b')", "ALTER TABLE `t$branch_b` SET TBLPROPERTIES ('a' = 'b')"),
        ("ALTER TABLE t ADD (c INT, d STRING AFTER a)", "ALTER TABLE t ADD COLUMNS (c INT, d STRING AFTER a)"),
        ("ALTER TABLE t ADD c BIGINT FIRST", "ALTER TABLE t ADD COLUMN c BIGINT FIRST"),
        ("ALTER TABLE t ADD `c d` BYTES COMMENT 'x'", "ALTER TABLE t ADD COLUMN `c d` BINARY COMMENT 'x'"),
        ("ALTER TABLE t ADD (c TIMESTAMP, d DOUBLE PRECISION NULL)", "ALTER TABLE t ADD COLUMNS (c TIMESTAMP_NTZ, d DOUBLE)"),
        ("ALTER TABLE t RENAME a TO b", "ALTER TABLE t RENAME COLUMN a TO b"),
        ("ALTER TABLE t DROP a", "ALTER TABLE t DROP COLUMN a"),
        ("ALTER TABLE t DROP `a`", "ALTER TABLE t DROP COLUMN `a`"),
        ("ALTER TABLE t DROP (a, b)", "ALTER TABLE t DROP COLUMNS (a, b)"),
        ("EXPLAIN ALTER TABLE t DROP (a, b)", "EXPLAIN ALTER TABLE t DROP COLUMNS (a, b)"),
        ("ALTER DATABASE d SET ('a' = 'b')", "ALTER DATABASE d SET DBPROPERTIES ('a' = 'b')"),
    ],
)  # fmt: skip
def test_flinks_spelling_becomes_sparks(before: str, after: str, sql: Callable[[str], str]) -> None:
    assert sql(before) == after
    assert sql(after) == after


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("ALTER TABLE t MODIFY a BIGINT", ModifyColumns(T, (ColumnChange("a", "BIGINT"),))),
        (
            "ALTER TABLE t MODIFY `a b` DOUBLE NOT NULL COMMENT 'it''s' AFTER c",
            ModifyColumns(T, (ColumnChange("a b", "DOUBLE NOT NULL", "it's", "AFTER", "c"),)),
        ),
        (
            "ALTER TABLE t MODIFY (a INT FIRST, b ROW<x INT, y TIMESTAMP(3)>)",
            ModifyColumns(
                T,
                (
                    ColumnChange("a", "INT", None, "FIRST"),
                    ColumnChange(
                        "b",
                        '{"type":"ROW","fields":[{"id":0,"name":"x","type":"INT"},'
                        '{"id":1,"name":"y","type":"TIMESTAMP(3)"}]}',
                    ),
                ),
            ),
        ),
        (
            "ALTER TABLE t ADD (a INT, b TIMESTAMP(3) AFTER a)",
            AddColumns(T, (ColumnChange("a", "INT"), ColumnChange("b", "TIMESTAMP(3)", None, "AFTER", "a"))),
        ),
        ("ALTER TABLE t ADD m MAP<STRING, INT>", AddColumns(T, (ColumnChange("m", '{"type":"MAP","key":"STRING","value":"INT"}'),))),
    ],
)  # fmt: skip
def test_what_spark_cannot_say_is_a_statement_of_ours(
    text: str, statement: Statement, carried: Callable[[str], Statement]
) -> None:
    assert carried(text) == statement
