"""File indexes through SQL: where few rows are found, they are read without the others."""

from __future__ import annotations

from tests.spark.conftest import Sql

ROWS = 20_000
TABLE = (
    "CREATE TABLE t (id INT, code STRING, kind STRING, amount DOUBLE, day INT) {} TBLPROPERTIES ("
    " 'file-index.bloom-filter.columns' = 'code', 'file-index.bloom-filter.code.items' = '20000',"
    " 'file-index.bitmap.columns' = 'kind', 'parquet.block.size' = '256 kb')"
)
FILL = (
    "INSERT INTO t SELECT cast(id AS INT), concat('ö', id * 3), IF(id % 5000 = 7, 'rare', concat('k', id % 3)),"
    f" nullif(id % 11, 5) / 2, cast(id % 2 AS INT) FROM range(0, {ROWS}, 1, 1)"
)
LOOKUPS = (
    "code = 'ö30'",
    "code IN ('ö30', 'ö31', 'ö59997')",
    "code = 'ö30' AND kind = 'k1' AND amount > 0",
    "code = 'ö30' AND amount IS NULL",
    "code = 'ö33' OR kind = 'rare'",
    "kind = 'rare'",
    "kind = 'k1' AND code >= 'ö5'",
    "upper(code) = 'Ö30' AND code = 'ö30'",
)
WITHOUT = "/*+ OPTIONS('file-index.read.enabled' = 'false') */"


def plan(sql: Sql, query: str) -> str:
    return str(sql(f"EXPLAIN {query}")[0][0])


def check(sql: Sql) -> None:
    """Compare answers with those without indexes."""
    for condition in LOOKUPS:
        found = sql(f"SELECT * FROM t WHERE {condition}")
        assert sorted(map(repr, found)) == sorted(map(repr, sql(f"SELECT * FROM t {WITHOUT} WHERE {condition}")))
    for query in (
        "SELECT count(*), sum(amount), max(code) FROM t {} WHERE code IN ('ö30', 'ö33', 'ö36')",
        "SELECT a.id, b.amount FROM t {} a JOIN t b ON a.id = b.id + 1 WHERE a.code = 'ö300' ORDER BY ALL",
    ):
        assert sql(query.format("")) == sql(query.format(WITHOUT)), query


def test_lookups_by_indexes_answer_as_scans_do(sql: Sql) -> None:
    sql(TABLE.format("PARTITIONED BY (day)"))
    sql(FILL)
    check(sql)
    sql("ALTER TABLE t RENAME COLUMN amount TO price")
    sql("ALTER TABLE t ADD COLUMN amount DOUBLE")
    sql(FILL.replace("'rare'", "'seldom'").replace("INTO t SELECT", "INTO t (id, code, kind, price, day) SELECT"))
    check(sql)


def test_lookups_by_indexes_see_no_deleted_rows(sql: Sql) -> None:
    sql(TABLE.format("").replace("TBLPROPERTIES (", "TBLPROPERTIES ('deletion-vectors.enabled' = 'true',"))
    sql(FILL)
    sql("UPDATE t SET amount = -1 WHERE code = 'ö60'")
    sql("DELETE FROM t WHERE code IN ('ö30', 'ö33') OR kind = 'rare' AND id > 6000")
    assert sql("SELECT id, amount FROM t WHERE code = 'ö60'") == [(20, -1.0)]
    assert sql("SELECT id FROM t WHERE code = 'ö30'") == []
    assert sql("SELECT id FROM t WHERE kind = 'rare' ORDER BY id") == [(7,), (5007,)]
    check(sql)


def test_the_driver_reads_few_rows_and_workers_what_few_values_have(sql: Sql) -> None:
    sql(TABLE.format(""))
    sql(FILL)
    few = plan(sql, "SELECT * FROM t WHERE kind = 'rare'")
    assert "LocalTableScan" in few
    assert "BatchScan" in plan(sql, "SELECT * FROM t WHERE kind != 'rare'")
    one = plan(sql, "SELECT * FROM t WHERE code = 'ö30'")
    assert "about 1 rows by file indexes" in one
    assert "Filter (" not in one, "Python workers evaluate the condition"
    assert "file indexes" not in plan(sql, "SELECT * FROM t WHERE amount = 1")
