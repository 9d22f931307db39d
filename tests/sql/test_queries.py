"""Constructs inside queries become plain Spark SQL, each where it stands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paimon_sql.sql.rewrite import RewriteContext, rewrite

NAMES = [
    ("SELECT * FROM t$snapshots", "SELECT * FROM `t$snapshots`"),
    ("SELECT * FROM db.t$files f", "SELECT * FROM db.`t$files` f"),
    ("SELECT * FROM paimon.`my db`.t$branch_b$files", "SELECT * FROM paimon.`my db`.`t$branch_b$files`"),
    ("SELECT t$tags.tag_name FROM t$tags, u", "SELECT `t$tags`.tag_name FROM `t$tags`, u"),
    ("INSERT INTO t$branch_b VALUES (1)", "INSERT INTO `t$branch_b` VALUES (1)"),
    ("TABLE t$tags |> SELECT tag_name", "TABLE `t$tags` |> SELECT tag_name"),
    ("DESCRIBE TABLE EXTENDED t$ro;", "DESCRIBE TABLE EXTENDED `t$ro`;"),
    ("REFRESH TABLE t$ro", "REFRESH TABLE `t$ro`"),
    ("CREATE VIEW v AS SELECT 'a$b' FROM t$ro -- c$d", "CREATE VIEW v AS SELECT 'a$b' FROM `t$ro` -- c$d"),
    ("SELECT * FROM größe$files", "SELECT * FROM `größe$files`"),
    ("EXPLAIN SELECT * FROM t$files", "EXPLAIN SELECT * FROM `t$files`"),
    ("SET VAR v = (SELECT max(snapshot_id) FROM t$snapshots)", "SET VAR v = (SELECT max(snapshot_id) FROM `t$snapshots`)"),
]  # fmt: skip

HINTS = [
    ("SELECT * FROM t /*+ OPTIONS('a'='b') */", "SELECT * FROM t WITH ('a'='b')"),
    ("SELECT * FROM t/*+OPTIONS('a'='b')*/x", "SELECT * FROM t WITH ('a'='b') x"),
    ("select * from t /*+ options ( 'a' = 'b', c.d = 5, `e` = true ) */ AS x", "select * from t WITH ('a' = 'b', c.d = 5, `e` = true) AS x"),
    ("SELECT * FROM t /*+ OPTIONS('a' = '*/, ''x''') */", "SELECT * FROM t WITH ('a' = '*/, ''x''')"),
    ("SELECT * FROM t /*+ OPTIONS('a'='b'), OPTIONS('c'='d') */", "SELECT * FROM t WITH ('a'='b', 'c'='d')"),
    ("SELECT * FROM t /*+ OPTIONS('a'='b') */ /*+ OPTIONS('c'='d') */ x", "SELECT * FROM t WITH ('a'='b', 'c'='d') x"),
    ("SELECT * FROM `t$files` /*+ OPTIONS('a'='b') */", "SELECT * FROM `t$files` WITH ('a'='b')"),
    ("SELECT * FROM db.t$files /*+ OPTIONS('a'='b') */", "SELECT * FROM db.`t$files` WITH ('a'='b')"),
    ("SELECT * FROM IDENTIFIER('t') /*+ OPTIONS('a'='b') */ x", "SELECT * FROM IDENTIFIER('t') WITH ('a'='b') x"),
    ("SELECT * FROM a /*+ OPTIONS('x'='1') */ p JOIN a /*+ OPTIONS('x'='2') */ q JOIN a r", "SELECT * FROM a WITH ('x'='1') p JOIN a WITH ('x'='2') q JOIN a r"),
    ("SELECT * FROM a /*+ OPTIONS('x'='1') */, b /*+ OPTIONS('x'='2') */ WHERE 1=1", "SELECT * FROM a WITH ('x'='1'), b WITH ('x'='2') WHERE 1=1"),
    ("SELECT * FROM (a /*+ OPTIONS('x'='1') */ JOIN b)", "SELECT * FROM (a WITH ('x'='1') JOIN b)"),
    ("SELECT /*+ BROADCAST(a) */ * FROM a /*+ OPTIONS('x'='1') */", "SELECT /*+ BROADCAST(a) */ * FROM a WITH ('x'='1')"),
    ("INSERT INTO t /*+ OPTIONS('a'='b') */ (x) SELECT 1", "INSERT INTO t WITH ('a'='b') (x) SELECT 1"),
    ("INSERT OVERWRITE TABLE t /*+ OPTIONS('a'='b') */ PARTITION (p = 1) SELECT 1", "INSERT OVERWRITE TABLE t WITH ('a'='b') PARTITION (p = 1) SELECT 1"),
    ("FROM t /*+ OPTIONS('a'='b') */ |> WHERE x > 1", "FROM t WITH ('a'='b') |> WHERE x > 1"),
    ("TABLE t /*+ OPTIONS('a'='b') */ UNION TABLE u", "SELECT * FROM t WITH ('a'='b') UNION TABLE u"),
    ("SELECT * FROM f(TABLE(t /*+ OPTIONS('a'='b') */))", "SELECT * FROM f(TABLE(SELECT * FROM t WITH ('a'='b')))"),
    ("CACHE TABLE c AS SELECT * FROM t /*+ OPTIONS('a'='b') */", "CACHE TABLE c AS SELECT * FROM t WITH ('a'='b')"),
    ("SELECT * FROM t\n/*+ OPTIONS(\n'a' = 'b' -- why\n) */\nx", "SELECT * FROM t\nWITH ('a' = 'b')\nx"),
    ("SELECT * FROM t /*+ OPTIONS() */ x", "SELECT * FROM t /*+ OPTIONS() */ x"),
    # behind the time, wherever the hint stands
    ("SELECT * FROM t VERSION AS OF 1 /*+ OPTIONS('a'='b') */ x", "SELECT * FROM t VERSION AS OF 1 WITH ('a'='b') x"),
    ("SELECT * FROM t /*+ OPTIONS('a'='b') */ VERSION AS OF 'g' x", "SELECT * FROM t  VERSION AS OF 'g' WITH ('a'='b') x"),
    ("SELECT * FROM t /*+ OPTIONS('a'='b') */ FOR SYSTEM_TIME AS OF now() - INTERVAL '1' DAY AS x WHERE 1=1", "SELECT * FROM t  FOR SYSTEM_TIME AS OF now() - INTERVAL '1' DAY WITH ('a'='b') AS x WHERE 1=1"),
    ("SELECT * FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '2999-01-01' /*+ OPTIONS('a'='b') */", "SELECT * FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '2999-01-01' WITH ('a'='b')"),
    # a common table expression hides a table only where it can be seen
    ("WITH c AS (SELECT * FROM t /*+ OPTIONS('a'='b') */), t AS (SELECT 1) SELECT * FROM t", "WITH c AS (SELECT * FROM t WITH ('a'='b')), t AS (SELECT 1) SELECT * FROM t"),
    ("SELECT * FROM (WITH t AS (SELECT 1) SELECT * FROM t) a JOIN t /*+ OPTIONS('a'='b') */ b", "SELECT * FROM (WITH t AS (SELECT 1) SELECT * FROM t) a JOIN t WITH ('a'='b') b"),
    ("WITH t AS (SELECT 1) SELECT * FROM db.t /*+ OPTIONS('a'='b') */", "WITH t AS (SELECT 1) SELECT * FROM db.t WITH ('a'='b')"),
]  # fmt: skip

FUNCTIONS = [
    ("SELECT * FROM paimon_incremental_query('t', 1, 3) x", "SELECT * FROM `t` WITH ('incremental-between' = '1,3') x"),
    ("SELECT * FROM PAIMON_INCREMENTAL_QUERY('db.t', 'a', 'b')", "SELECT * FROM `db`.`t` WITH ('incremental-between' = 'a,b')"),
    ("SELECT * FROM paimon_incremental_query('paimon.`my db`.t$branch_b', 1, 2)", "SELECT * FROM `paimon`.`my db`.`t$branch_b` WITH ('incremental-between' = '1,2')"),
    ("SELECT * FROM paimon_incremental_between_timestamp('t', '2024-01-01 00:00:00', 1692169900000)", "SELECT * FROM `t` WITH ('incremental-between-timestamp' = '2024-01-01 00:00:00,1692169900000')"),
    ("SELECT * FROM paimon_incremental_to_auto_tag('t', '2024-12-04')", "SELECT * FROM `t` WITH ('incremental-to-auto-tag' = '2024-12-04')"),
    ("SELECT * FROM paimon_incremental_query('t', 1, 3) /*+ OPTIONS('a'='b') */ x", "SELECT * FROM `t` WITH ('incremental-between' = '1,3', 'a'='b')  x"),
    ("SELECT paimon_incremental_query FROM t", "SELECT paimon_incremental_query FROM t"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), [*NAMES, *HINTS, *FUNCTIONS])
def test_constructs_in_queries_become_plain_spark_sql(before: str, after: str, sql: Callable[[str], str]) -> None:
    assert sql(before) == after


@pytest.mark.parametrize("before", [before for before, _ in [*NAMES, *HINTS, *FUNCTIONS]])
def test_what_was_rewritten_once_stays_as_it_is(before: str, sql: Callable[[str], str]) -> None:
    assert sql(sql(before)) == sql(before)


def test_constructs_in_queries_do_not_depend_on_the_catalog() -> None:
    nowhere = RewriteContext("spark_catalog", "default", frozenset())
    assert rewrite("SELECT * FROM t$ro /*+ OPTIONS('a'='b') */", nowhere).sql == "SELECT * FROM `t$ro` WITH ('a'='b')"


@pytest.mark.parametrize(
    "time",
    [
        "TIMESTAMP '2999-12-31 00:00:00'",
        "'2024-01-01'",
        "'2024' '-01-01'",
        "1678883047",
        "1678883047.5",
        "-1 + 2",
        "now()",
        "current_timestamp",
        "current_timestamp() - INTERVAL 2 HOURS 3 MINUTES",
        "now() - INTERVAL '1 02:00' DAY TO MINUTE",
        "now() - INTERVAL '1 day'",
        "now() - INTERVAL -1 DAY * 2",
        "CAST('2024-01-01' AS TIMESTAMP)",
        "'2024-01-01'::TIMESTAMP_NTZ",
        "date_sub(current_date, 1)::DECIMAL(10, 2)",
        "(SELECT max(ts) FROM u)",
        "CASE WHEN a > 1 THEN now() ELSE CASE WHEN TRUE THEN '2020' END END",
        "sys.f(1).x[0] || 'y'",
        ":time",
        "?",
        "a >> 1 & 2",
        "X'00'",
    ],
)
@pytest.mark.parametrize("rest", ["", " AS x", " x", " x JOIN y ON 1 = 1", ", u", " WHERE a = 1", " TABLESAMPLE (1 ROWS) x"])
def test_the_end_of_a_time_is_found_before_the_alias(time: str, rest: str, sql: Callable[[str], str]) -> None:
    before = f"SELECT * FROM t /*+ OPTIONS('a'='b') */ FOR SYSTEM_TIME AS OF {time}{rest}"
    assert sql(before) == f"SELECT * FROM t  FOR SYSTEM_TIME AS OF {time} WITH ('a'='b'){rest}"
