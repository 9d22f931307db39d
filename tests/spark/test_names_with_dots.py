"""Columns whose names hold dots and blanks, which Spark takes apart unless it is told not to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.mark.parametrize("bucket", ["2", "-1"])
def test_columns_with_dots_in_their_names_are_written_changed_and_read(sql: Sql, bucket: str) -> None:
    sql(
        f"CREATE TABLE t (`k.k` INT, `v.w` STRING, `a b` INT, PRIMARY KEY (`k.k`, `a b`) NOT ENFORCED)"
        f" PARTITIONED BY (`a b`) WITH ('bucket' = '{bucket}')"
    )
    sql("INSERT INTO t SELECT /*+ REPARTITION(2) */ CAST(id AS INT), 'x', CAST(id % 2 AS INT) FROM range(20)")
    sql("INSERT INTO t VALUES (100, 'q', 5)")
    assert sql("UPDATE t SET `v.w` = 'z' WHERE `k.k` IN (SELECT 3)") == [(1,)]
    assert sql("DELETE FROM t WHERE `v.w` = 'q'") == [(1,)]
    sql(
        "MERGE INTO t USING (SELECT 4 AS k, 0 AS p, 'm' AS `v.w`) q ON t.`k.k` = q.k AND t.`a b` = q.p"
        " WHEN MATCHED THEN UPDATE SET `v.w` = q.`v.w`"
    )
    assert sql("SELECT `a b`, count(*), max(`v.w`) FROM t GROUP BY 1 ORDER BY 1") == [(0, 10, "x"), (1, 10, "z")]
    assert sql("SELECT * FROM t WHERE `v.w` = 'm'") == [(4, "m", 0)]


def test_keys_with_dots_move_between_partitions(sql: Sql) -> None:
    sql(
        "CREATE TABLE t (`k.k` INT, `v.w` STRING, `a.b` INT, PRIMARY KEY (`k.k`) NOT ENFORCED)"
        " PARTITIONED BY (`a.b`) WITH ('bucket' = '-1')"
    )
    for partition in (1, 2):
        sql(
            f"INSERT INTO t SELECT /*+ REPARTITION(2) */ CAST(id AS INT), 'x', {partition}"
            f" FROM range({20 // partition})"
        )
    assert sql("SELECT `a.b`, count(*) FROM t GROUP BY 1 ORDER BY 1") == [(1, 10), (2, 10)]


def test_appended_columns_with_dots_are_read_by_conditions(sql: Sql) -> None:
    sql("CREATE TABLE t (`a.b` INT, `c` STRUCT<`d.e`: INT>)")
    sql("INSERT INTO t SELECT /*+ REPARTITION(2) */ CAST(id AS INT), named_struct('d.e', 7) FROM range(10)")
    assert sql("SELECT count(*), max(`c`.`d.e`) FROM t WHERE `a.b` > 4") == [(5, 7)]
