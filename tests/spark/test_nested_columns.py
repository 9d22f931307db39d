"""Inner fields: only those are read that a query wants, and every null stays where it is, at each level."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]
TYPES = (
    "k INT, s STRUCT<a: INT, b: STRING, t: STRUCT<x: INT, y: STRING, w: TIMESTAMP_NTZ>, `d.o`: INT>,"
    " r ARRAY<STRUCT<a: INT, b: STRING, q: ARRAY<STRUCT<u: INT, v: INT>>>>,"
    " m MAP<STRING, STRUCT<a: INT, b: STRING>>,"
    " p MAP<STRUCT<i: INT, j: INT>, STRUCT<n: MAP<INT, STRUCT<e: INT, f: INT>>>>"
)
KINDS = {
    "append": "'bucket'='-1'",
    "vectors": "'deletion-vectors.enabled'='true'",
    "evolving": "'row-tracking.enabled'='true', 'data-evolution.enabled'='true'",
    "deduplicate": "'primary-key'='k', 'bucket'='1', 'write-only'='true'",
    "first-row": "'primary-key'='k', 'bucket'='1', 'merge-engine'='first-row', 'write-only'='true'",
    "partial-update": "'primary-key'='k', 'bucket'='1', 'merge-engine'='partial-update', 'write-only'='true'",
    "aggregation": "'primary-key'='k', 'bucket'='1', 'merge-engine'='aggregation', 'write-only'='true',"
    " 'fields.r.aggregate-function'='collect', 'fields.m.aggregate-function'='merge_map'",
}
QUERIES = (
    "s.a",
    "s.t.x",
    "s.t.w",
    "s.`d.o`",
    "s.a, s.t",
    "s.b, s.t.y, r.b",
    "s.t IS NULL, s.t.y",
    "s IS NULL, s.t IS NULL, s.t.x IS NULL",
    "s IS NULL, s.a",
    "r.a",
    "size(r), r.b",
    "get(r, 0).b, r.q",
    "get(r.q, 0).v",
    "get(get(r, 0).q, 0).u",
    "m['x'].a",
    "map_values(m).b, map_keys(m)",
    "get(map_values(p).n, 0)[1].e",
    "map_keys(p).j",
    "explode(r.q) AS z",
    "p IS NULL, get(map_values(p), 0).n[1].f",
)
CONDITIONS = (
    "true",
    "s.a > 1",
    "s IS NOT NULL",
    "s.t IS NULL",
    "s.t.x = 3 OR k > 4",
    "get(r, 0).a = 1 AND k < 6",
    "k = 2",
)


def row(k: int) -> str:
    """A row of which other parts are null than of its neighbours."""

    def some(i: int, text: str) -> str:
        return "NULL" if (k + i) % 7 == 0 or (k * i) % 5 == 4 else text

    t = some(1, f"named_struct('x', {some(2, str(k))}, 'y', {some(3, repr(f'y{k}'))}, 'w', {some(4, _TIME)})")
    s = some(5, f"named_struct('a', {some(6, str(k))}, 'b', {some(7, repr(f'ü{k}'))}, 't', {t}, 'd.o', {some(8, '7')})")
    q = some(9, f"array(named_struct('u', {some(10, '1')}, 'v', {some(11, str(k))}), NULL)")
    element = some(12, f"named_struct('a', {some(13, '1')}, 'b', {some(14, repr(f'b{k}'))}, 'q', {q})")
    r = some(15, f"array({element}, NULL, named_struct('a', 2, 'b', 'c', 'q', array()))" if k % 4 else "array()")
    m = some(16, f"map('x', {some(17, f'''named_struct('a', {some(18, str(k))}, 'b', 'm')''')}, 'y', NULL)")
    n = some(19, f"map(1, {some(20, f'''named_struct('e', {k}, 'f', NULL)''')}, 2, NULL)")
    p = some(21, f"map(named_struct('i', {k}, 'j', {some(22, '5')}), named_struct('n', {n}))")
    return f"({k}, {s}, {r}, {m}, {p})"


_TIME = "TIMESTAMP_NTZ '1969-12-31 23:59:59.25'"


def values(keys: range) -> str:
    return f"SELECT CAST(k AS INT), s, r, m, p FROM VALUES {', '.join(map(row, keys))} AS t(k, s, r, m, p)"


@contextmanager
def whole_columns(spark: SparkSession) -> Iterator[None]:
    """As if there were no pruning of inner fields."""
    settings = (
        "spark.sql.optimizer.nestedSchemaPruning.enabled",
        "spark.sql.optimizer.expression.nestedPruning.enabled",
    )
    for key in settings:
        spark.conf.set(key, "false")
    try:
        yield
    finally:
        for key in settings:
            spark.conf.unset(key)


def told(sql: Sql, query: str) -> list[str]:
    return sorted(repr(found) for found in sql(query))


def compare(sql: Sql, seed: int, other: str) -> None:
    """Answers about the table are those about another one; the seed says which queries have which conditions."""
    for number, columns in list(enumerate(QUERIES, seed))[seed % 3 :: 3]:
        query = f"SELECT k, {columns} FROM {{}} WHERE {CONDITIONS[number % len(CONDITIONS)]}"
        assert told(sql, query.format("t")) == told(sql, query.format(other)), query


def fields_read(spark: SparkSession, query: str) -> object:
    """The types of the columns that a query's scan reads, by name."""
    leaves = spark.sql(query)._jdf.queryExecution().optimizedPlan().collectLeaves()
    struct = json.loads(leaves.head().scan().readSchema().json())
    return {f["name"]: f["type"] for f in struct["fields"]}


def names_inside(kind: object) -> object:
    if isinstance(kind, str):
        return kind
    assert isinstance(kind, dict)
    if kind["type"] == "struct":
        return {f["name"]: names_inside(f["type"]) for f in kind["fields"]}
    return names_inside(kind["elementType"] if kind["type"] == "array" else kind["valueType"])


def test_a_scan_reads_the_wanted_inner_fields_only(sql: Sql, spark: SparkSession) -> None:
    sql(f"CREATE TABLE t ({TYPES})")
    sql(f"INSERT INTO t {values(range(3))}")
    read = fields_read(spark, "SELECT s.t.x, r.b, m['x'].a FROM t WHERE s.a > 0")
    assert {name: names_inside(kind) for name, kind in read.items()} == {  # type: ignore[attr-defined]
        "s": {"a": "integer", "t": {"x": "integer"}},
        "r": {"b": "string"},
        "m": {"a": "integer"},
    }


@pytest.mark.parametrize(
    ("kind", "file_format"),
    [*((kind, "parquet") for kind in KINDS), *product(("append", "partial-update"), ("orc", "avro"))],
)
def test_pruned_answers_are_those_of_whole_columns(
    sql: Sql, spark: SparkSession, kind: str, file_format: str, tmp_path: Path
) -> None:
    sql(
        f"CREATE TABLE t ({TYPES.replace('k INT', 'k INT NOT NULL')})"
        f" TBLPROPERTIES ({KINDS[kind]}, 'file.format'='{file_format}')"
    )
    sql(f"INSERT INTO t {values(range(9))}")
    sql(f"INSERT INTO t {values(range(6, 12)).replace('CAST(k AS INT)', 'CAST(k - 2 AS INT)')}")
    if kind in ("vectors", "deduplicate", "evolving"):
        sql("DELETE FROM t WHERE k = 3" if kind != "evolving" else "UPDATE t SET s = NULL WHERE k = 3")
    with whole_columns(spark):
        spark.sql("SELECT * FROM t").write.parquet(str(tmp_path / "copy"))
    spark.read.parquet(str(tmp_path / "copy")).createOrReplaceTempView("copy")
    compare(sql, list(KINDS).index(kind) + len(file_format), "copy")


@pytest.mark.parametrize(
    ("kind", "file_format"),
    [("append", "parquet"), ("evolving", "orc"), ("deduplicate", "parquet"), ("deduplicate", "avro")],
)
def test_old_files_are_pruned_by_ids(sql: Sql, spark: SparkSession, kind: str, file_format: str) -> None:
    sql(
        f"CREATE TABLE t ({TYPES.replace('k INT', 'k INT NOT NULL')})"
        f" TBLPROPERTIES ({KINDS[kind]}, 'file.format'='{file_format}')"
    )
    sql(f"INSERT INTO t {values(range(8))}")
    changes = (
        "ADD COLUMN s.c INT AFTER a",
        "RENAME COLUMN s.t.x TO z",
        "ADD COLUMN s.t.x STRING",
        "ALTER COLUMN s.a TYPE BIGINT",
        "DROP COLUMN s.b",
        "ADD COLUMN s.b INT FIRST",
        "ADD COLUMN r.element.c INT",
        "DROP COLUMN r.element.a",
        "RENAME COLUMN m.value.b TO B2",
        "ADD COLUMN m.value.b INT",
        "ALTER COLUMN s.t.y FIRST",
        "ALTER COLUMN m.value.a TYPE BIGINT",
    )
    queries = (
        *("s.a", "s.b", "s.c", "s.c, s IS NULL", "s.t.x", "s.t.z", "s.t.x, s.t IS NULL", "s.t.y", "s.`d.o`", "r.c"),
        *("r.b", "get(r.q, 0).v", "m['x'].a", "m['x'].b", "m['x'].B2", "s.t", "s", "r", "m", "s.b, s.c, s.t.x"),
    )
    for number, change in enumerate(changes, 1):
        sql(f"ALTER TABLE t {change}")
        if number != 6:
            continue
        for columns in queries:
            query = f"SELECT k, {columns} FROM t WHERE s.t IS NULL OR k > 1"
            try:
                with whole_columns(spark):
                    whole = told(sql, query)
            except Exception as error:
                assert "FIELD_NOT_FOUND" in str(error), query
                continue
            assert told(sql, query) == whole, (change, query)
    sql(
        "INSERT INTO t SELECT k, named_struct('b', 1, 'a', 2L, 'c', 3, 't', named_struct('y', 'n', 'z', 5, 'w',"
        " TIMESTAMP_NTZ '2020-01-01 00:00:00', 'x', 'new'), 'd.o', 4), NULL, NULL, NULL FROM VALUES (7), (20) AS n(k)"
    )
    for columns in queries:
        query = f"SELECT k, {columns} FROM t WHERE s.t IS NULL OR k > 1"
        with whole_columns(spark):
            whole = told(sql, query)
        assert told(sql, query) == whole, query


def test_sparks_own_reader_reads_pruned_columns_of_old_files(sql: Sql, spark: SparkSession) -> None:
    sql("CREATE TABLE t (k INT, s STRUCT<a: INT, b: INT>)")
    sql("INSERT INTO t VALUES (1, named_struct('a', 1, 'b', NULL)), (2, NULL), (3, named_struct('a', NULL, 'b', NULL))")
    sql("ALTER TABLE t ADD COLUMN s.c INT")
    sql("INSERT INTO t VALUES (4, named_struct('a', 7, 'b', 8, 'c', 9)), (5, NULL)")

    def workers(query: str) -> bool:
        plan = spark.sql(query)._jdf.queryExecution().executedPlan()
        return "PythonPartitionReaderFactory" in plan.collectLeaves().head().readerFactory().toString()

    assert not workers("SELECT s.a FROM t")
    assert not workers("SELECT s.a, s.c FROM t")
    assert sql("SELECT k, s.a, s.c, s IS NULL FROM t ORDER BY k") == [
        (1, 1, None, False),
        (2, None, None, True),
        (3, None, None, False),
        (4, 7, 9, False),
        (5, None, None, True),
    ]
    # A reader that goes by names would take a row for null of which a file has no field.
    assert sql("SELECT k FROM t WHERE s.c IS NULL AND s IS NOT NULL ORDER BY k") == [(1,), (3,)]


def test_rows_change_by_conditions_on_inner_fields(sql: Sql) -> None:
    sql(
        "CREATE TABLE t (k INT NOT NULL, s STRUCT<a: INT, b: STRUCT<c: INT, d: STRING>>)"
        " TBLPROPERTIES ('primary-key'='k')"
    )
    sql(
        "INSERT INTO t SELECT id, if(id = 2, NULL, named_struct('a', id, 'b', named_struct('c', id, 'd', 'x')))"
        " FROM range(5)"
    )
    sql("UPDATE t SET s.b.d = concat(s.b.d, 'y') WHERE s.a > 2")
    sql("DELETE FROM t WHERE s.b.c = 0")
    sql("MERGE INTO t USING (SELECT 1 k, 10 c) u ON t.s.a = u.k WHEN MATCHED THEN UPDATE SET s.b.c = u.c")
    assert sql("SELECT k, s.a, s.b.c, s.b.d, s IS NULL FROM t ORDER BY k") == [
        (1, 1, 10, "x", False),
        (2, None, None, None, True),
        (3, 3, 3, "xy", False),
        (4, 4, 4, "xy", False),
    ]


def test_views_of_the_table_prune_too(sql: Sql, spark: SparkSession) -> None:
    sql(
        "CREATE TABLE t (k INT NOT NULL, s STRUCT<a: INT, b: INT>)"
        " TBLPROPERTIES ('primary-key'='k', 'changelog-producer'='input')"
    )
    sql("INSERT INTO t VALUES (1, named_struct('a', 1, 'b', 2)), (2, NULL)")
    sql("INSERT INTO t VALUES (1, named_struct('a', 3, 'b', NULL))")
    for source in ("`t$audit_log`", "`t$binlog`", "`t$ro`", "t VERSION AS OF 1", "t"):
        columns = "s.a, s IS NULL" if "binlog" not in source else "s[0].a, s[0] IS NULL"
        query = f"SELECT k, {columns} FROM {source}"
        with whole_columns(spark):
            whole = told(sql, query)
        assert told(sql, query) == whole
    sql("CREATE TABLE b (k INT, s STRUCT<a: INT, b: INT>, dt STRING) PARTITIONED BY (dt)")
    sql("CALL sys.create_branch('b', 'x')")
    sql("INSERT INTO b VALUES (1, named_struct('a', 1, 'b', 2), 'p')")
    sql("INSERT INTO `b$branch_x` VALUES (2, named_struct('a', 5, 'b', 6), 'q'), (3, NULL, 'q')")
    sql("ALTER TABLE b SET TBLPROPERTIES ('scan.fallback-branch'='x')")
    for branch in ("b", "`b$branch_x`"):
        sql(f"ALTER TABLE {branch} ADD COLUMN s.c INT")
    assert sql("SELECT k, s.b, s IS NULL FROM b ORDER BY k") == [(1, 2, False), (2, 6, False), (3, None, True)]


def test_scans_of_other_inner_fields_are_no_reuse_of_each_other(sql: Sql) -> None:
    sql("CREATE TABLE parts (id INT, s STRUCT<a: INT, b: INT>)")
    sql("INSERT INTO parts VALUES (1, struct(1, 10)), (2, struct(2, 20))")
    asked = "SELECT id, sum(s.{0}) AS n FROM parts GROUP BY id"
    found = sql(
        f"SELECT x.id, x.n, y.n FROM ({asked.format('a')}) x JOIN ({asked.format('b')}) y USING (id) ORDER BY 1"
    )
    assert found == [(1, 1, 10), (2, 2, 20)]
    assert sql("SELECT (SELECT max(s.a) FROM parts), (SELECT max(s.b) FROM parts)") == [(2, 20)]
