"""DELETE, UPDATE and MERGE of our tables are read into statements whose expressions are the user's text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from paimon_sql.sql.carried_statements import Statement
from paimon_sql.sql.rewrite import RewriteContext, rewrite
from paimon_sql.sql.statements.insert import EvolvingInsert
from paimon_sql.sql.statements.rows import Assignment, DeleteFrom, MergeClause, MergeInto, Update

T = ("paimon", "db", "t")


def assign(**values: str) -> tuple[Assignment, ...]:
    return tuple(Assignment((column,), value) for column, value in values.items())


DELETES = [
    ("DELETE FROM t", DeleteFrom(T)),
    ("DELETE FROM t WHERE a = 1;", DeleteFrom(T, where="a = 1")),
    ("DELETE FROM paimon.x.t AS y WHERE y.a IN (SELECT 1)", DeleteFrom(("paimon", "x", "t"), "y", "y.a IN (SELECT 1)")),
    ("DELETE FROM `t$branch_b` x", DeleteFrom(("paimon", "db", "t$branch_b"), "x")),
    ("DELETE FROM dialect_cat.x.t$branch_b", DeleteFrom(("dialect_cat", "x", "t$branch_b"))),
    ("DELETE FROM IDENTIFIER('x.t') WHERE b", DeleteFrom(("paimon", "x", "t"), where="b")),
    ("delete from t where a = 'it''s; -- x' -- end", DeleteFrom(T, where="a = 'it''s; -- x'")),
    ("DELETE FROM t /*+ OPTIONS('k'='v') */ x WHERE a", DeleteFrom(T, "x", "a", options={"k": "v"})),
    (
        "WITH s AS (SELECT * FROM u$ro), r (a, b) AS (SELECT 1, 2) DELETE FROM t WHERE a IN (TABLE s)",
        DeleteFrom(T, where="a IN (TABLE s)", ctes="WITH s AS (SELECT * FROM `u$ro`), r (a, b) AS (SELECT 1, 2)"),
    ),
    (
        "DELETE FROM t WHERE a = (SELECT max(a) FROM t /*+ OPTIONS('k'='v') */ x)",
        DeleteFrom(T, where="a = (SELECT max(a) FROM t WITH ('k'='v') x)"),
    ),
]

UPDATES = [
    ("UPDATE t SET a = 1", Update(T, assign(a="1"))),
    ("UPDATE t x SET a = 1, b = DEFAULT WHERE x.c", Update(T, assign(a="1", b="DEFAULT"), "x", "x.c")),
    ("UPDATE t SET x.`y z`.w == f(1, 2)", Update(T, (Assignment(("x", "y z", "w"), "f(1, 2)"),))),
    (
        "UPDATE t AS x SET a = CASE WHEN b THEN (SELECT 1 WHERE 1 = 1) END, c = array(1, 2)[0] /* , d = 1 */ WHERE e",
        Update(T, assign(a="CASE WHEN b THEN (SELECT 1 WHERE 1 = 1) END", c="array(1, 2)[0]"), "x", "e"),
    ),
    ("UPDATE t /*+ OPTIONS('k'='v') */ SET a = 1", Update(T, assign(a="1"), options={"k": "v"})),
    ("WITH s AS (SELECT 1) UPDATE t SET a = (TABLE s)", Update(T, assign(a="(TABLE s)"), ctes="WITH s AS (SELECT 1)")),
]

MERGES = [
    (
        "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE",
        MergeInto(T, "s", "t.a = s.a", (MergeClause("MATCHED", "DELETE"),)),
    ),
    (
        "MERGE WITH SCHEMA EVOLUTION INTO t AS x USING (SELECT 1 AS a, 'ON' AS b) AS y (a, b)"
        " ON x.a = y.a AND x.b IN (1)"
        " WHEN MATCHED AND x.c > 1 THEN UPDATE SET x.a = y.a, b = CASE WHEN 1 = 1 THEN 'WHEN MATCHED' ELSE y.b END"
        " WHEN MATCHED THEN UPDATE SET *"
        " WHEN NOT MATCHED BY TARGET AND CASE WHEN y.a > 1 THEN TRUE END THEN INSERT (a, b) VALUES (y.a, f(y.b, 1))"
        " WHEN NOT MATCHED THEN INSERT *"
        " WHEN NOT MATCHED BY SOURCE AND x.a < 0 THEN UPDATE SET a = 0"
        " WHEN NOT MATCHED BY SOURCE THEN DELETE",
        MergeInto(
            T,
            "(SELECT 1 AS a, 'ON' AS b)",
            "x.a = y.a AND x.b IN (1)",
            (
                MergeClause(
                    "MATCHED",
                    "UPDATE",
                    "x.c > 1",
                    (
                        Assignment(("x", "a"), "y.a"),
                        Assignment(("b",), "CASE WHEN 1 = 1 THEN 'WHEN MATCHED' ELSE y.b END"),
                    ),
                ),
                MergeClause("MATCHED", "UPDATE *"),
                MergeClause("NOT MATCHED", "INSERT", "CASE WHEN y.a > 1 THEN TRUE END", assign(a="y.a", b="f(y.b, 1)")),
                MergeClause("NOT MATCHED", "INSERT *"),
                MergeClause("NOT MATCHED BY SOURCE", "UPDATE", "x.a < 0", assign(a="0")),
                MergeClause("NOT MATCHED BY SOURCE", "DELETE"),
            ),
            "x",
            "y (a, b)",
            schema_evolution=True,
        ),
    ),
    (
        "MERGE INTO t USING s$ro /*+ OPTIONS('k'='v') */ AS s ON t.a = s.a WHEN MATCHED THEN DELETE",
        MergeInto(T, "`s$ro` WITH ('k'='v')", "t.a = s.a", (MergeClause("MATCHED", "DELETE"),), source_alias="s"),
    ),
    (
        "WITH c AS (SELECT 1 AS a) MERGE INTO t /*+ OPTIONS('k'='v') */ x USING y.s FOR SYSTEM_TIME AS OF now() z ON a"
        " WHEN ! MATCHED THEN INSERT (a) VALUES (DEFAULT)",
        MergeInto(
            T,
            "y.s FOR SYSTEM_TIME AS OF now()",
            "a",
            (MergeClause("NOT MATCHED", "INSERT", None, assign(a="DEFAULT")),),
            "x",
            "z",
            ctes="WITH c AS (SELECT 1 AS a)",
            options={"k": "v"},
        ),
    ),
    (
        "MERGE INTO t USING s ON s.case = t.a AND CASE WHEN matched THEN 1 ELSE 2 END = 1 WHEN MATCHED THEN DELETE",
        MergeInto(
            T,
            "s",
            "s.case = t.a AND CASE WHEN matched THEN 1 ELSE 2 END = 1",
            (MergeClause("MATCHED", "DELETE"),),
        ),
    ),
]


@pytest.mark.parametrize(("text", "statement"), [*DELETES, *UPDATES, *MERGES])
def test_changes_of_our_tables_are_statements_of_ours(
    text: str, statement: Statement, carried: Callable[[str], Statement]
) -> None:
    assert carried(text) == statement


@pytest.mark.parametrize(
    ("text", "spark_sql"),
    [
        ("EXPLAIN DELETE FROM t$branch_b WHERE a;", "EXPLAIN DELETE FROM `t$branch_b` WHERE a;"),
        ("DELETE FROM t /*+ OPTIONS('k'='v') */ x WHERE a", "DELETE FROM t x WHERE a"),
        (
            "MERGE INTO t USING s VERSION AS OF 1 /*+ OPTIONS('k'='v') */ y ON a WHEN MATCHED THEN DELETE",
            "MERGE INTO t USING (SELECT * FROM s VERSION AS OF 1 WITH ('k'='v')) y ON a WHEN MATCHED THEN DELETE",
        ),
    ],
)
def test_sparks_own_spelling_is_kept_for_its_parser(text: str, spark_sql: str, context: RewriteContext) -> None:
    assert rewrite(text, context).spark_sql == spark_sql


@pytest.mark.parametrize(
    "text",
    [
        "DELETE t",
        "DELETE FROM",
        "DELETE FROM t WHERE",
        "DELETE FROM t x y",
        "UPDATE t",
        "UPDATE t SET",
        "UPDATE t SET a",
        "UPDATE t SET a = 1,",
        "UPDATE t SET a = 1 WHERE",
        "MERGE INTO t USING s WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING s ON a",
        "MERGE INTO t USING s ON a WHEN MATCHED THEN INSERT",
        "MERGE INTO t USING s ON a WHEN NOT MATCHED THEN INSERT (a) VALUES (1, 2)",
        "MERGE INTO t USING ON a WHEN MATCHED THEN DELETE",
        "TRUNCATE TABLE",
        "TRUNCATE TABLE t x",
        "SHOW PARTITIONS",
        "ANALYZE TABLE t COMPUTE",
        "ANALYZE TABLE t COMPUTE STATISTICS FOR",
        "ALTER TABLE t DROP PARTITION",
        "ALTER TABLE t DROP PARTITION (a > 1)",
        "ALTER TABLE t DROP PARTITION (a)",
        "ALTER TABLE t DROP PARTITION (a =)",
        "ALTER TABLE t DROP PARTITION (a = 1), PARTITION (a)",
        "TRUNCATE TABLE t PARTITION (a)",
        "SHOW PARTITIONS t PARTITION ()",
        "CREATE TABLE",
        "CREATE TABLE t (",
        "CREATE TABLE t (a",
        "ALTER TABLE",
        "ALTER TABLE t",
        "CALL sys.rollback_to(",
        "SHOW TAGS",
    ],
)
def test_what_spark_refuses_goes_to_spark_for_its_message(text: str, context: RewriteContext) -> None:
    assert rewrite(text, context).sql is text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DELETE FROM t WHERE a = :x", True),
        ("DELETE FROM t WHERE a = ?", True),
        ("DELETE FROM t WHERE a = b::INT AND c = ':x ?'", False),
        ("SELECT * FROM t$ro WHERE a = :x", False),
    ],
)
def test_parameters_of_a_carried_statement_are_reported(text: str, expected: bool, context: RewriteContext) -> None:
    assert rewrite(text, context).has_parameters is expected


def test_a_colon_that_touches_a_name_is_no_parameter(context: RewriteContext) -> None:
    assert not rewrite("UPDATE t SET s = CAST(NULL AS STRUCT<a: INT, b:STRING>)", context).has_parameters
    assert rewrite("UPDATE t SET s = :a", context).has_parameters


INSERTS = [
    ("INSERT INTO t BY NAME SELECT 1 AS a", EvolvingInsert(T)),
    ("insert into table x.t by name select 1 as a", EvolvingInsert(("paimon", "x", "t"))),
    ("WITH s AS (SELECT 1) INSERT OVERWRITE t PARTITION (p = (1)) BY NAME TABLE s", EvolvingInsert(T)),
    ("INSERT INTO t /*+ OPTIONS('k'='v') */ BY NAME TABLE s", EvolvingInsert(T, {"k": "v"})),
    ("INSERT INTO t WITH ('k'='v') BY NAME TABLE s", EvolvingInsert(T, {"k": "v"})),
]


@pytest.mark.parametrize(("text", "statement"), INSERTS)
def test_inserts_by_name_are_carried_where_they_may_bring_columns(
    text: str, statement: EvolvingInsert, context: RewriteContext
) -> None:
    merging = replace(context, merges_schema=lambda table: True)
    assert rewrite(text, merging).statements == (statement,)
    assert not rewrite(text, context).statements
    refusing = text.replace("'k'='v'", "'write.merge-schema'='false'")
    assert bool(rewrite(refusing, merging).statements) == (refusing == text)
    asking = text.replace("'k'='v'", "'write.merge-schema'='true'")
    assert bool(rewrite(asking, context).statements) == (asking != text)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT WITH SCHEMA EVOLUTION INTO t SELECT 1",
        "WITH s AS (SELECT 1) INSERT WITH SCHEMA EVOLUTION OVERWRITE TABLE t PARTITION (p) BY NAME TABLE s",
        "insert with schema evolution into t (a, b) values (1, 2)",
    ],
)
def test_inserts_with_schema_evolution_are_carried(text: str, context: RewriteContext) -> None:
    assert rewrite(text, context).statements == (EvolvingInsert(T, evolves=True),)


@pytest.mark.parametrize(
    "text", ["INSERT INTO t SELECT 1", "INSERT INTO t (a) SELECT 1", "INSERT INTO hive.x.t BY NAME TABLE s"]
)
def test_other_inserts_are_for_spark(text: str, context: RewriteContext) -> None:
    merging = replace(context, merges_schema=lambda table: True, other_catalogs=frozenset({"hive"}))
    assert rewrite(text, merging).sql == text
