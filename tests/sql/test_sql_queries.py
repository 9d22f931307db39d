"""Constructs inside queries become plain Spark SQL, each where it stands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paimon_sql.sql.rewrite import RewriteContext, rewrite


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
@pytest.mark.parametrize(
    "rest", ["", " AS x", " x", " x JOIN y ON 1 = 1", ", u", " WHERE a = 1", " TABLESAMPLE (1 ROWS) x"]
)
def test_the_end_of_a_time_is_found_before_the_alias(time: str, rest: str, sql: Callable[[str], str]) -> None:
    before = f"SELECT * FROM t /*+ OPTIONS('a'='b') */ FOR SYSTEM_TIME AS OF {time}{rest}"
    assert sql(before) == f"SELECT * FROM t  FOR SYSTEM_TIME AS OF {time} WITH ('a'='b'){rest}"
