"""CREATE TABLE: comments, and LIKE."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paimon_sql.sql.carried_statements import Statement
from paimon_sql.sql.statements.tables.create_table_like import CreateTableLike


def test_comments_between_the_clauses_stay_where_they_do_no_harm(sql: Callable[[str], str]) -> None:
    before = (
        "CREATE TABLE t ( -- with ('x')\n  a INT, -- PRIMARY KEY\n  PRIMARY KEY (a) NOT ENFORCED -- the key\n)"
        " WITH ('k' = 'v')"
    )
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
