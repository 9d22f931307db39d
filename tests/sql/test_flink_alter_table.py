"""ALTER TABLE in Flink's spelling is a statement of ours where Spark's words cannot say it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paimon_sql.sql.carried_statements import Statement
from paimon_sql.sql.statements.tables.alter_table import AddColumns, ColumnChange, ModifyColumns
from tests.sql.sql_cases import T


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
        (
            "ALTER TABLE t ADD m MAP<STRING, INT>",
            AddColumns(T, (ColumnChange("m", '{"type":"MAP","key":"STRING","value":"INT"}'),)),
        ),
    ],
)  # fmt: skip
def test_what_spark_cannot_say_is_a_statement_of_ours(
    text: str, statement: Statement, carried: Callable[[str], Statement]
) -> None:
    assert carried(text) == statement
