"""Global indexes in SQL: built, asked, kept true and dropped by statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Sql = Callable[[str], list[tuple[Any, ...]]]
EVOLVING = (
    "TBLPROPERTIES ('row-tracking.enabled'='true', 'data-evolution.enabled'='true', 'deletion-vectors.enabled'='true')"
)


def build(sql: Sql, column: str, kind: str = "btree") -> tuple[Any, ...]:
    (row,) = sql(f"CALL sys.create_global_index(table => 't', index_column => '{column}', index_type => '{kind}')")
    return row


def plan(sql: Sql, query: str) -> str:
    return str(sql(f"EXPLAIN {query}")[0][0])


@pytest.mark.parametrize("kind", ["btree", "bitmap"])
def test_a_look_up_by_an_index_needs_no_job_and_answers_as_without(sql: Sql, kind: str) -> None:
    sql(f"CREATE TABLE t (id INT, name STRING, at TIMESTAMP, price DECIMAL(10, 2)) {EVOLVING}")
    sql(
        "INSERT INTO t SELECT cast(id AS INT), if(id % 10 = 9, NULL, concat('n', id % 300)),"
        " timestamp_millis(id * 3600000), cast(id / 4 AS DECIMAL(10, 2)) FROM range(0, 3000, 1, 1)"
    )
    for column in ("name", "at", "price"):
        assert build(sql, column, kind)[:2] == (True, 3000)
    for condition in (
        "name = 'n42'",
        "name IN ('n1', 'n2', 'zzz')",
        "name LIKE 'n29%' AND price > 700",
        "name IS NULL AND price < 20",
        "at = TIMESTAMP '1970-01-03 05:00:00'",
        "at BETWEEN TIMESTAMP '1970-01-03 05:00:00' AND TIMESTAMP '1970-01-03 09:00:00'",
        "price = 1.5 OR name = 'n7'",
        "price IN (1.5, 2.25, 1000000) AND id > 6",
        "name = 'n1' AND upper(name) = 'N1'",
    ):
        assert "LocalTableScan" in plan(sql, f"SELECT * FROM t WHERE {condition}"), condition
        query = f"SELECT count(*), sum(id), min(name), max(at) FROM t {{}} WHERE {condition}"
        plain = sql(query.format("/*+ OPTIONS('global-index.enabled'='false') */"))
        assert sql(query.format("")) == plain, condition
    assert sql("SELECT id, _ROW_ID, __paimon_row_index FROM t WHERE name = 'n42' ORDER BY id LIMIT 2") == [
        (42, 42, 42),
        (342, 342, 342),
    ]
    assert sql(
        "SELECT index_type, row_range_start, row_range_end, index_field_name FROM t$table_indexes ORDER BY 4"
    ) == [(kind, 0, 2999, name) for name in ("at", "name", "price")]


def test_wide_conditions_are_left_to_sparks_own_reader(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, name STRING) {EVOLVING}")
    sql("INSERT INTO t SELECT cast(id AS INT), concat('n', id % 2) FROM range(0, 40000, 1, 1)")
    build(sql, "name")
    build(sql, "id")
    assert "LocalTableScan" not in plan(sql, "SELECT * FROM t WHERE name = 'n1'")
    assert sql("SELECT count(*), sum(id) FROM t WHERE name = 'n1'") == [(20000, 400000000)]
    assert sql("SELECT count(*) FROM t WHERE id > 1000") == [(38999,)]


def test_options_part_compress_and_bound_indexes(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, name STRING) {EVOLVING}")
    sql("INSERT INTO t SELECT cast(id AS INT), concat('a long name ', id % 900) FROM range(0, 3000, 1, 1)")
    call = "CALL sys.create_global_index(table => 't', index_column => 'name', index_type => '{}', options => '{}')"
    sizes = {}
    for kind, level in (("btree", 1), ("btree", 19), ("bitmap", 1), ("bitmap", 19)):
        given = f"{kind}-index.compression=zstd,{kind}-index.compression-level={level}"
        for option in ("btree-index.compression-level", "bitmap-index.compression-level"):
            assert (option in given) is option.startswith(kind)
        sizes[kind, level] = sql(call.format(kind, given))[0][3]
        sql(f"CALL sys.drop_global_index(table => 't', index_column => 'name', index_type => '{kind}')")
    assert sizes["btree", 1] != sizes["btree", 19] and sizes["bitmap", 1] != sizes["bitmap", 19]
    few = "sorted-index.records-per-range=100,sorted-index.build.max-parallelism=2,bitmap-index.compression=lz4"
    assert int(str(sql(call.format("bitmap", few))[0][2])) >= 2
    query = "SELECT id FROM t {} WHERE name > 'a long name 899'"
    for bound, by_index in (("0 b", False), ("256 mb", True)):
        hint = f"/*+ OPTIONS('bitmap-index.fallback-scan-max-size' = '{bound}', 'global-index.thread-num' = '2') */"
        assert ("Filter" not in plan(sql, query.format(hint))) is by_index
        assert sql(f"SELECT count(*) FROM t {hint} WHERE name > 'a long name 899'") == sql(
            "SELECT count(*) FROM t WHERE name || '' > 'a long name 899'"
        )


def test_new_changed_and_deleted_rows_are_seen(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, name STRING, n INT) {EVOLVING}")
    sql("INSERT INTO t SELECT cast(id AS INT), concat('n', id), 0 FROM range(0, 100, 1, 1)")
    build(sql, "name")
    sql("INSERT INTO t VALUES (100, 'n42', 0)")
    assert sql("SELECT id FROM t WHERE name = 'n42' ORDER BY id") == [(42,), (100,)]
    sql("UPDATE t SET n = 7 WHERE name = 'n42'")
    assert sql("SELECT id, n FROM t WHERE name = 'n42' ORDER BY id") == [(42, 7), (100, 7)]
    sql("DELETE FROM t WHERE name = 'n42' AND id < 50")
    assert sql("SELECT id FROM t WHERE name = 'n42'") == [(100,)]
    for statement in (
        "UPDATE t SET name = 'x' WHERE id = 3",
        "MERGE INTO t USING (SELECT 3 AS i) s ON t.id = s.i WHEN MATCHED THEN UPDATE SET name = 'x'",
    ):
        with pytest.raises(Exception, match="name cannot be changed, for a global index is over it"):
            sql(statement)
    sql(
        "MERGE INTO t USING (SELECT explode(array(5, 999)) AS i) s ON t.id = s.i WHEN MATCHED THEN UPDATE SET n = 5"
        " WHEN NOT MATCHED THEN INSERT (id, name) VALUES (i, 'm')"
    )
    assert sql("UPDATE t SET name = 'x' WHERE id = 12345") == [(0,)]
    sql("ALTER TABLE t SET TBLPROPERTIES ('global-index.column-update-action' = 'IGNORE')")
    sql("UPDATE t SET name = 'x' WHERE id = 3")
    assert sql("SELECT id FROM t WHERE name IN ('x', 'm') ORDER BY id") == [(3,), (999,)]
    assert build(sql, "name")[1] == 102
    assert sql("SELECT id FROM t WHERE name IN ('x', 'n3') ORDER BY id") == [(3,)]
    sql("ALTER TABLE t SET TBLPROPERTIES ('global-index.column-update-action' = 'DROP_PARTITION_INDEX')")
    sql("UPDATE t SET name = 'y' WHERE id = 3")
    assert sql("SELECT count(*) FROM t$table_indexes WHERE index_type = 'btree'") == [(0,)]
    assert sql("SELECT id FROM t WHERE name = 'y'") == [(3,)]


def test_an_older_snapshot_is_read_by_its_own_indexes(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, name STRING) {EVOLVING}")
    sql("INSERT INTO t SELECT cast(id AS INT), 'old' FROM range(0, 10, 1, 1)")
    build(sql, "name")
    sql("ALTER TABLE t SET TBLPROPERTIES ('global-index.column-update-action' = 'IGNORE')")
    sql("UPDATE t SET name = 'new' WHERE id < 5")
    build(sql, "name")
    assert sql("SELECT count(*) FROM t WHERE name = 'old'") == [(5,)]
    assert sql("SELECT count(*) FROM t VERSION AS OF 2 WHERE name = 'old'") == [(10,)]
    assert sql("SELECT count(*) FROM t VERSION AS OF 2 WHERE name = 'new'") == [(0,)]


ARRAYS = {
    "STRING": ("array('t' || id % 40, 'ü,' || id % 7, NULL)", "'t3'", "array('ü,2', 't1', 'none')"),
    "INT": ("array(cast(id % 40 AS INT), cast(-id % 7 AS INT))", "3", "array(1, -2, 999)"),
    "BIGINT": ("array(id % 40, id % 40)", "3L", "array(1L, 17L)"),
    "DOUBLE": ("array(id % 40 / 2D, double('NaN'), -0.0D)", "1.5D", "array(0.0D, 2.5D)"),
    "DECIMAL(10, 2)": ("array(cast(id % 40 AS DECIMAL(10, 2)))", "3.00", "CAST(array(1, 7) AS ARRAY<DECIMAL(10, 2)>)"),
    "DATE": ("array(date_add(DATE '2024-01-01', cast(id % 40 AS INT)))", "DATE '2024-01-04'", "NULL"),
    "BOOLEAN": ("array(id % 40 = 3)", "true", "array(true, true)"),
}


@pytest.mark.parametrize("element", ARRAYS)
def test_arrays_that_hold_an_element_are_found_by_a_multivalue_index(sql: Sql, element: str) -> None:
    arrays, one, several = ARRAYS[element]
    sql(f"CREATE TABLE t (id INT, tags ARRAY<{element}>) {EVOLVING}")
    sql(
        f"INSERT INTO t SELECT cast(id AS INT), CASE id % 11 WHEN 0 THEN NULL WHEN 1 THEN array() ELSE {arrays} END"
        " FROM range(0, 2000, 1, 1)"
    )
    assert build(sql, "tags", "multivalue")[:3] == (True, 2000, 1)
    conditions = [f"array_contains(tags, {one})", f"array_contains(tags, {one}) AND id > 500"]
    if several != "NULL":
        conditions += [
            f"arrays_overlap(tags, {several})",
            f"arrays_overlap({several}, tags) AND array_contains(tags, {one})",
            f"array_contains(tags, {one}) OR arrays_overlap(tags, {several})",
        ]
    for condition in (*conditions, f"NOT array_contains(tags, {one})", "tags IS NULL", "size(tags) = 0"):
        query = f"SELECT count(*), sum(id), sum(hash(tags)) FROM t {{}} WHERE {condition}"
        plain = sql(query.format("/*+ OPTIONS('global-index.enabled' = 'false') */"))
        assert sql(query.format("")) == plain, condition
    assert sql(f"SELECT count(*) > 0 FROM t WHERE {conditions[0]}") == [(True,)]
    if element in ("STRING", "INT", "BIGINT"):
        assert "LocalTableScan" in plan(sql, f"SELECT * FROM t WHERE {conditions[0]}")
        assert "LocalTableScan" in plan(sql, f"SELECT * FROM t WHERE {conditions[2]}")
    assert sql("SELECT index_type, row_range_start, row_range_end, index_field_name FROM t$table_indexes") == [
        ("multivalue", 0, 1999, "tags")
    ]


def test_a_multivalue_index_covers_rows_whose_arrays_hold_nothing(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, tags ARRAY<STRING>) {EVOLVING}")
    sql("INSERT INTO t VALUES (1, NULL), (2, array()), (3, array(NULL))")
    assert build(sql, "tags", "multivalue")[:3] == (True, 3, 1)
    assert build(sql, "tags", "multivalue")[1] == 0
    assert sql("SELECT * FROM t WHERE array_contains(tags, 'a')") == []
    assert sql("SELECT count(*) FROM t WHERE array_contains(tags, 'a') IS NULL") == [(2,)]
    sql("INSERT INTO t VALUES (4, array('a', 'a'))")
    assert sql("SELECT id FROM t WHERE array_contains(tags, 'a')") == [(4,)]
    assert build(sql, "tags", "multivalue")[1:3] == (1, 1)
    sql("DELETE FROM t WHERE id = 4")
    assert sql("SELECT id FROM t WHERE array_contains(tags, 'a')") == []


def test_a_multivalue_index_takes_its_options_and_is_parted_by_its_keys(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, tags ARRAY<STRING>) {EVOLVING}")
    sql("INSERT INTO t SELECT cast(id AS INT), array('t' || id, 'all') FROM range(0, 500, 1, 1)")
    (row,) = sql(
        "CALL sys.create_global_index(table => 't', index_column => 'tags', index_type => 'multivalue', options =>"
        " 'sorted-index.records-per-range=100,multivalue-index.compression=zstd,multivalue-index.compression-level=3,"
        "multivalue-index.dictionary-block-size=100 b')"
    )
    assert row[1] == 500 and int(str(row[2])) > 3
    assert sql("SELECT count(*) FROM t WHERE array_contains(tags, 'all')") == [(500,)]
    assert sql("SELECT id FROM t WHERE arrays_overlap(tags, array('t7', 't499', NULL)) ORDER BY 1") == [(7,), (499,)]
    assert sql("SELECT count(*) FROM t WHERE arrays_overlap(tags, array('nothing'))") == [(0,)]


def test_changed_arrays_are_found_and_an_index_of_them_is_built_anew(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, tags ARRAY<STRING>, n INT) {EVOLVING}")
    sql("INSERT INTO t SELECT cast(id AS INT), array('t' || id % 10), 0 FROM range(0, 100, 1, 1)")
    build(sql, "tags", "multivalue")
    with pytest.raises(Exception, match="tags cannot be changed, for a global index is over it"):
        sql("UPDATE t SET tags = array('x') WHERE id = 3")
    sql("ALTER TABLE t SET TBLPROPERTIES ('global-index.column-update-action' = 'IGNORE')")
    sql("UPDATE t SET tags = array('x') WHERE id = 3")
    assert sql("SELECT id FROM t WHERE array_contains(tags, 'x')") == [(3,)]
    assert sql("SELECT count(*) FROM t WHERE array_contains(tags, 't3')") == [(9,)]
    assert build(sql, "tags", "multivalue")[1] == 100
    sql("ALTER TABLE t RENAME COLUMN tags TO labels")
    assert sql("SELECT id FROM t WHERE array_contains(labels, 'x')") == [(3,)]
    sql("CALL sys.drop_global_index(table => 't', index_column => 'labels', index_type => 'multivalue')")
    assert sql("SELECT count(*) FROM t$table_indexes") == [(0,)]


def test_kinds_of_indexes_are_refused_for_columns_that_they_are_not_of(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, tags ARRAY<STRING>, deep ARRAY<ARRAY<INT>>) {EVOLVING}")
    sql("INSERT INTO t VALUES (1, array('a'), array(array(1)))")
    for column, kind in (("id", "multivalue"), ("deep", "multivalue"), ("tags", "btree"), ("tags", "bitmap")):
        with pytest.raises(Exception, match=f"which an index of the type '{kind}' cannot be over"):
            build(sql, column, kind)


@pytest.mark.smoke
def test_conditions_on_arrays_are_those_of_spark_where_workers_decide_them(sql: Sql) -> None:
    for name, options in (
        ("k", "'primary-key' = 'id', 'bucket' = '1', 'file.format' = 'orc'"),
        ("o", "'file.format' = 'orc'"),
        ("p", "'file.format' = 'parquet'"),
        ("a", "'file.format' = 'avro'"),
    ):
        sql(f"CREATE TABLE {name} (id INT NOT NULL, f ARRAY<FLOAT>, s ARRAY<STRING>) TBLPROPERTIES ({options})")
        sql(
            f"INSERT INTO {name} VALUES (1, array(-0.0F, NULL), array('a,b', NULL)), (2, array(float('NaN')),"
            " array('[x]')), (3, array(), array()), (4, NULL, NULL), (5, array(NULL), array(''))"
        )
        for condition, expected in (
            ("array_contains(f, 0.0F)", [1]),
            ("array_contains(f, float('NaN'))", [2]),
            ("arrays_overlap(f, array(0.0F, float('NaN')))", [1, 2]),
            ("arrays_overlap(s, array('a', 'b'))", []),
            ("arrays_overlap(s, array('a,b', '[x]'))", [1, 2]),
            ("NOT array_contains(s, 'a,b')", [2, 3, 5]),
            ("array_contains(s, 'zz') IS NULL", [1, 4]),
            ("array_contains(s, '') OR id = 3", [3, 5]),
            ("arrays_overlap(s, CAST(array() AS ARRAY<STRING>))", []),
        ):
            assert sql(f"SELECT id FROM {name} WHERE {condition} ORDER BY 1") == [(i,) for i in expected], condition
