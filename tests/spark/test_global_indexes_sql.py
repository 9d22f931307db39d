"""Global indexes in SQL: built, asked, kept true and dropped by statements."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Sql = Callable[[str], list[tuple[object, ...]]]
EVOLVING = (
    "TBLPROPERTIES ('row-tracking.enabled'='true', 'data-evolution.enabled'='true', 'deletion-vectors.enabled'='true')"
)


def build(sql: Sql, column: str, kind: str = "btree") -> tuple[object, ...]:
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
