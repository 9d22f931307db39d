"""With `local-merge-buffer-size` a table holds what it holds without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Sql = Callable[[str], list[tuple[Any, ...]]]

# Each key comes many times, in several tasks; a value only grows, so that which row is the newest is plain.
SOURCE = "SELECT /*+ REPARTITION(3) */ id % 7 AS k, CAST(id % 2 AS STRING) AS p, id AS v, {} AS x FROM range(0, 700)"

ENGINES = {
    "deduplicate": {"sequence.field": "v"},
    "first-row": {},
    "partial-update": {"sequence.field": "v"},
    "aggregation": {"fields.v.aggregate-function": "max", "fields.x.aggregate-function": "last_non_null_value"},
}


@pytest.mark.parametrize("bucket", ["3", "-1"])
@pytest.mark.parametrize("engine", ENGINES)
def test_tables_hold_the_same_whether_rows_are_merged_early_or_not(sql: Sql, engine: str, bucket: str) -> None:
    options = {"merge-engine": engine, "bucket": bucket, **ENGINES[engine]}
    found = []
    for name, size in (("early", "1 kb"), ("late", None)):
        given = options if size is None else {**options, "local-merge-buffer-size": size}
        pairs = ", ".join(f"'{k}'='{v}'" for k, v in given.items())
        sql(
            f"CREATE TABLE {name} (k BIGINT, p STRING, v BIGINT, x STRING) PARTITIONED BY (p)"
            f" TBLPROPERTIES ('primary-key'='k,p', {pairs})"
        )
        for more in ("'same'", "CAST(NULL AS STRING)"):
            sql(f"INSERT INTO {name} {SOURCE.format(more)}")
        columns = "k, p, x" if engine == "first-row" else "k, p, v, x"
        found.append(sorted(sql(f"SELECT {columns} FROM {name}"), key=str))
    assert found[0] == found[1]
    assert len(found[0]) == 14


def test_sums_and_kinds_survive_an_early_merge(sql: Sql) -> None:
    sql(
        "CREATE TABLE s (k BIGINT, n BIGINT, kind STRING) TBLPROPERTIES ('primary-key'='k', 'bucket'='2',"
        " 'local-merge-buffer-size'='64 mb', 'merge-engine'='aggregation', 'rowkind.field'='kind',"
        " 'fields.n.aggregate-function'='sum')"
    )
    kind = "CASE WHEN id % 10 = 0 THEN '-D' ELSE '+I' END"
    sql(f"INSERT INTO s SELECT /*+ REPARTITION(2) */ id % 3, 1, {kind} FROM range(0, 300)")
    assert sorted(sql("SELECT k, n FROM s")) == [(0, 80), (1, 80), (2, 80)]


def test_values_of_all_types_pass_an_early_merge_unchanged(sql: Sql) -> None:
    columns = (
        "k INT, a DECIMAL(20, 3), b TIMESTAMP, c TIMESTAMP_NTZ, d DATE, e BINARY, f ARRAY<STRING>, g MAP<STRING, INT>,"
        " h STRUCT<x: INT, y: ARRAY<DATE>>, i BOOLEAN, j DOUBLE, l VARIANT, m CHAR(3), n TINYINT"
    )
    for name, more in (("early", ", 'local-merge-buffer-size'='1 mb'"), ("late", "")):
        sql(f"CREATE TABLE {name} ({columns}) TBLPROPERTIES ('primary-key'='k', 'bucket'='2'{more})")
        sql(
            f"INSERT INTO {name} SELECT /*+ REPARTITION(2) */ CAST(id AS INT), 1.5,"
            " TIMESTAMP '2024-01-01 01:02:03.123456', TIMESTAMP_NTZ '1900-01-01 00:00:00', DATE '2024-02-29', X'00FF',"
            " array('ä', NULL), map('k', 1), named_struct('x', 1, 'y', array(DATE '2024-01-01')), true, double('NaN'),"
            " parse_json('{\"a\": [1, null]}'), 'ab', CAST(-1 AS TINYINT) FROM range(0, 5) WHERE id <> 2"
            " UNION ALL SELECT /*+ REPARTITION(2) */ 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,"
            " NULL, NULL, NULL FROM range(0, 3)"
        )
    texts = [str(sorted(sql(f"SELECT * EXCEPT (l), to_json(l) FROM {name}"))) for name in ("early", "late")]
    assert texts[0] == texts[1]
    assert texts[0].count("2024") > 4


def test_variants_that_are_null_pass_the_search_for_keys_in_other_partitions(sql: Sql) -> None:
    sql(
        "CREATE TABLE c (k INT, p STRING, l VARIANT) PARTITIONED BY (p)"
        " TBLPROPERTIES ('primary-key'='k', 'bucket'='-1')"
    )
    for p in "xy":
        sql(f"INSERT INTO c SELECT CAST(id AS INT), '{p}', IF(id = 1, NULL, parse_json('[1]')) FROM range(0, 3)")
    assert sorted(sql("SELECT k, p, to_json(l) FROM c")) == [(0, "y", "[1]"), (1, "y", None), (2, "y", "[1]")]
