"""Materialized tables through SQL: made, refreshed as a whole, by what is new or by partitions, changed and dropped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import CommitConflictError
from paimon_sql.procedures import call
from paimon_sql.spark.materialized.refresh import SessionRefresher
from paimon_sql.spark.session.bridge import Bridge

Sql = Callable[[str], list[tuple[Any, ...]]]

STATE = "materialized-table.refresh"


def refresh(sql: Sql, table: str, arguments: str = "") -> tuple[Any, ...]:
    """Refresh a table; its mode, partitions, rows and note."""
    ((_, mode, partitions, rows, _, _, note),) = sql(
        f"CALL paimon.sys.refresh_materialized_table(table => '{table}'{arguments})"
    )
    return mode, partitions, rows, note


@pytest.fixture
def orders(sql: Sql) -> Sql:
    """A session with a table ``orders`` of two rows."""
    sql("CREATE TABLE orders (id INT, city STRING, price INT, dt STRING)")
    sql("INSERT INTO orders VALUES (1, 'a', 10, '2024-01-01'), (2, 'b', 20, '2024-01-02')")
    return sql


def test_a_table_is_made_of_its_query_and_filled(orders: Sql) -> None:
    orders(
        "CREATE MATERIALIZED TABLE m (n COMMENT 'how many', city, PRIMARY KEY (city) NOT ENFORCED) COMMENT 'c'"
        " WITH ('bucket' = '2') FRESHNESS = INTERVAL '2' HOURS AS SELECT city, count(*) AS n FROM orders GROUP BY city"
    )
    assert orders("SELECT * FROM m ORDER BY city") == [(1, "a"), (1, "b")]
    assert orders("DESCRIBE m")[:2] == [("n", "bigint", "how many"), ("city", "string", None)]
    assert orders("SELECT commit_kind FROM m$snapshots") == [("OVERWRITE",)]
    database = orders("SELECT current_database()")[0][0]
    query = f"SELECT city, count(*) AS n FROM `paimon`.`{database}`.`orders` GROUP BY city"
    properties: dict[str, str] = dict(orders("SHOW TBLPROPERTIES m"))
    assert properties["materialized-table.definition-query"] == query
    assert properties["type"] == "materialized-table"
    assert properties["materialized-table.refresh-mode"] == "FULL"
    ((made,),) = orders("SHOW CREATE MATERIALIZED TABLE m")
    orders("DROP MATERIALIZED TABLE m")
    orders(str(made))
    assert orders("SELECT * FROM m ORDER BY city") == [(1, "a"), (1, "b")]
    assert orders("SHOW CREATE MATERIALIZED TABLE m") == [(made,)]


def test_an_append_table_that_grew_is_taken_on_from(orders: Sql) -> None:
    orders("CREATE MATERIALIZED TABLE m AS SELECT id, price * 2 AS twice FROM orders AS o WHERE price > 10")
    assert refresh(orders, "m")[0] == "NONE"
    orders("INSERT INTO orders VALUES (3, 'c', 30, '2024-01-03'), (4, 'c', 1, '2024-01-03')")
    assert refresh(orders, "m", ", dry_run => true")[0] == "INCREMENTAL"
    assert refresh(orders, "m")[:3] == ("INCREMENTAL", None, 1)
    assert refresh(orders, "m")[0] == "NONE"
    assert orders("SELECT * FROM m ORDER BY id") == [(2, 40), (3, 60)]
    assert orders("SELECT commit_kind FROM m$snapshots ORDER BY snapshot_id") == [("OVERWRITE",), ("APPEND",)]
    assert orders("SELECT * FROM m VERSION AS OF 1") == [(2, 40)]
    orders("INSERT INTO orders VALUES (5, 'c', 2, '2024-01-03')")
    assert refresh(orders, "m")[:3] == ("INCREMENTAL", None, 0)
    assert refresh(orders, "m")[0] == "NONE"
    orders("UPDATE orders SET price = 50 WHERE id = 2")
    assert refresh(orders, "m")[:3] == ("FULL", None, 2)
    assert orders("SELECT * FROM m ORDER BY id") == [(2, 100), (3, 60)]
    orders("CALL sys.rollback('orders', 1)")
    assert refresh(orders, "m")[:3] == ("FULL", None, 1)
    orders("CALL sys.rollback('m', 2)")
    assert refresh(orders, "m")[0] == "FULL"
    assert orders("SELECT * FROM m") == [(2, 40)]


def test_what_is_new_of_several_tables_and_views_is_taken(orders: Sql) -> None:
    orders("CREATE TABLE more (id INT)")
    orders("INSERT INTO more VALUES (7)")
    orders("CREATE VIEW seen AS SELECT id, explode(array(price, 0)) AS p FROM orders")
    orders("CREATE MATERIALIZED TABLE m AS SELECT id, p FROM seen UNION ALL SELECT id, NULL FROM more")
    orders("INSERT INTO more VALUES (8)")
    assert refresh(orders, "m")[:3] == ("INCREMENTAL", None, 1)
    orders("INSERT INTO orders VALUES (3, 'c', 30, 'd')")
    assert refresh(orders, "m")[:3] == ("INCREMENTAL", None, 2)
    orders("ALTER TABLE more SET TBLPROPERTIES ('snapshot.num-retained.max' = '60')")
    assert refresh(orders, "m")[0] == "NONE"
    orders("CREATE OR REPLACE VIEW seen AS SELECT id, explode(array(price, 1)) AS p FROM orders")
    assert refresh(orders, "m")[::3] == ("FULL", "a view of the query has changed")
    expected = orders("SELECT id, p FROM seen UNION ALL SELECT id, NULL FROM more")
    assert sorted(map(str, orders("SELECT * FROM m"))) == sorted(map(str, expected))


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT count(*) AS n FROM orders", "went from"),
        ("SELECT id FROM orders ORDER BY id LIMIT 1", "went from"),
        ("SELECT DISTINCT city FROM orders", "went from"),
        ("SELECT id FROM orders WHERE price >= (SELECT max(price) FROM orders)", "went from"),
        ("SELECT o.id FROM orders o JOIN orders p ON o.id = p.id", "went from"),
        ("SELECT id, row_number() OVER (ORDER BY id) AS r FROM orders", "went from"),
        ("SELECT id, rand() AS r FROM orders", "by chance or by the clock"),
        ("SELECT id, current_date() AS d FROM orders", "by chance or by the clock"),
        ("SELECT id, __paimon_file_path AS f FROM orders", "nobody can tell"),
        ("SELECT snapshot_id FROM orders$snapshots", "nobody can tell"),
        ("SELECT doubled(id) AS d FROM orders", "nobody can tell whether a function"),
        ("SELECT id FROM orders VERSION AS OF 1", "nobody can tell"),
    ],
)
def test_anything_else_is_worked_out_anew(orders: Sql, query: str, why: str) -> None:
    orders("CREATE FUNCTION doubled(x INT) RETURNS INT RETURN x * 2")
    orders(f"CREATE MATERIALIZED TABLE m REFRESH_MODE = CONTINUOUS AS {query}")
    orders("INSERT INTO orders VALUES (3, 'a', 30, '2024-01-03')")
    mode, _, _, note = refresh(orders, "m")
    assert (mode, why in str(note)) == ("FULL", True), note
    if "rand" not in query:
        assert sorted(orders("SELECT * FROM m")) == sorted(orders(query))


def test_a_mode_that_says_full_is_full(orders: Sql) -> None:
    orders("CREATE MATERIALIZED TABLE m REFRESH_MODE = FULL AS SELECT id FROM orders")
    orders("INSERT INTO orders VALUES (3, 'c', 30, '2024-01-03')")
    assert refresh(orders, "m")[:3] == ("FULL", None, 3)
    assert refresh(orders, "m")[0] == "NONE"


def test_rows_of_a_key_are_worked_out_anew(sql: Sql) -> None:
    sql("CREATE TABLE k (id INT, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    sql("INSERT INTO k VALUES (1, 'a')")
    sql("CREATE MATERIALIZED TABLE m (PRIMARY KEY (id) NOT ENFORCED) AS SELECT * FROM k")
    sql("INSERT INTO k VALUES (1, 'b'), (2, 'c')")
    assert refresh(sql, "m")[:3] == ("FULL", None, 2)
    sql("CALL sys.compact('k')")
    assert refresh(sql, "m")[0] == "NONE"
    sql("CALL sys.compact('m')")
    assert refresh(sql, "m")[0] == "NONE"
    assert sql("SELECT * FROM m ORDER BY id") == [(1, "b"), (2, "c")]


def test_partitions_are_worked_out_anew(orders: Sql) -> None:
    orders("CREATE MATERIALIZED TABLE m PARTITIONED BY (dt) REFRESH_MODE = FULL AS SELECT id, price, dt FROM orders")
    orders("UPDATE orders SET price = price + 1")
    assert refresh(orders, "m", ", partitions => 'dt=2024-01-01'")[:3] == ("FULL", "dt=2024-01-01", 1)
    assert orders("SELECT * FROM m ORDER BY id") == [(1, 11, "2024-01-01"), (2, 20, "2024-01-02")]
    orders("DELETE FROM orders WHERE id = 1")
    ((_, mode, partitions, rows, *_),) = orders("ALTER MATERIALIZED TABLE m REFRESH PARTITION (dt = '2024-01-01')")
    assert (mode, partitions, rows) == ("FULL", "dt=2024-01-01", 0)
    assert orders("SELECT * FROM m ORDER BY id") == [(2, 20, "2024-01-02")]
    mode, _, rows, note = refresh(orders, "m")
    assert (mode, rows) == ("FULL", 1)
    assert "some partitions alone" in str(note)
    with pytest.raises(Exception, match="is no partition"):
        refresh(orders, "m", ", partitions => 'id=1'")


def test_partitions_of_the_time_since_the_last_refresh_are_due(orders: Sql, spark: SparkSession) -> None:
    orders(
        "CREATE MATERIALIZED TABLE m PARTITIONED BY (dt) WITH ('partition.fields.dt.date-formatter' = 'yyyy-MM-dd')"
        " FRESHNESS = INTERVAL '1' DAY REFRESH_MODE = FULL AS SELECT id, dt FROM orders"
    )
    home = _refresher(spark)
    identifier = Identifier(str(orders("SELECT current_database()")[0][0]), "m")
    table = home._catalog.table(identifier)
    day = 86_400_000
    latest = table.snapshots.latest()
    assert latest is not None and latest.properties is not None
    state = json.loads(latest.properties[STATE]) | {"refreshed": latest.time_millis - 2 * day}
    path = table.snapshots.directory.path(latest.id)
    body = json.loads(Path(path).read_text()) | {"properties": {STATE: json.dumps(state)}}
    Path(path).write_text(json.dumps(body))
    ((_, mode, partitions, *_),) = orders("CALL paimon.sys.refresh_materialized_tables(including_tables => '.*[.]m')")
    assert mode == "FULL"
    wanted = orders("SELECT concat('dt=', date_sub(current_date(), d)) FROM VALUES (2), (1), (0) AS v(d)")
    assert str(partitions).split(", ") == [day for (day,) in wanted]
    assert len(orders("SELECT * FROM m")) == 2, "partitions of other times stay"


@pytest.mark.parametrize(
    ("clauses", "query", "problem"),
    [
        ("", "SELECT id, nix FROM orders", "nix"),
        ("", "SELECT * FROM nowhere", "nowhere"),
        ("", "SELECT 1 / (id - 1) AS x FROM orders", "DIVIDE_BY_ZERO"),
        ("", "SELECT NULL AS x", "void"),
        ("", "SELECT id, id FROM orders", "id"),
        ("(PRIMARY KEY (id) NOT ENFORCED)", "SELECT nullif(id, 1) AS id FROM orders", "null in a row"),
        ("(PRIMARY KEY (x) NOT ENFORCED)", "SELECT id FROM orders", "'x'"),
        ("(a, id)", "SELECT id, city FROM orders", "not those of the query"),
        ("PARTITIONED BY (x)", "SELECT id FROM orders", "'x'"),
        ("WITH ('buckett' = '1')", "SELECT id FROM orders", "buckett"),
        ("WITH ('type' = 'table')", "SELECT id FROM orders", "follows from the statement"),
        ("WITH ('partition.fields.id.date-formatter' = 'yyyy')", "SELECT id FROM orders", "partition column of texts"),
        (
            "PARTITIONED BY (dt) WITH ('partition.fields.dt.date-formatter' = 'b')",
            "SELECT id, dt FROM orders",
            "pattern letter",
        ),
        ("", "SELECT * FROM session_view", "temporary view"),
    ],
)
def test_a_table_that_cannot_be_made_leaves_nothing(orders: Sql, clauses: str, query: str, problem: str) -> None:
    orders("CREATE OR REPLACE TEMPORARY VIEW session_view AS SELECT 1 AS x")
    with pytest.raises(Exception, match=problem) as caught:
        orders(f"CREATE MATERIALIZED TABLE m {clauses} AS {query}")
    assert "INTERNAL_ERROR" not in str(caught.value)
    assert orders("SHOW TABLES LIKE 'm'") == []


def test_an_error_of_the_query_is_told_at_its_place(orders: Sql) -> None:
    with pytest.raises(Exception, match="line 2 pos 12"):
        orders("CREATE MATERIALIZED TABLE m\n  AS SELECT nix FROM orders")
    with pytest.raises(Exception, match="line 2, pos 32"):
        orders("CREATE MATERIALIZED TABLE m\n  AS SELECT id FROM FROM orders,")


def test_rows_are_not_changed_by_hand(orders: Sql, spark: SparkSession) -> None:
    orders("CREATE MATERIALIZED TABLE m PARTITIONED BY (dt) AS SELECT id, dt FROM orders")
    for statement in (
        "INSERT INTO m VALUES (9, 'x')",
        "INSERT INTO m BY NAME SELECT 9 AS id, 'x' AS dt",
        "INSERT OVERWRITE m VALUES (9, 'x')",
        "UPDATE m SET id = 9",
        "DELETE FROM m WHERE id = 1",
        "MERGE INTO m USING orders o ON m.id = o.id WHEN MATCHED THEN DELETE",
        "TRUNCATE TABLE m",
        "ALTER TABLE m DROP PARTITION (dt = '2024-01-01')",
        "COPY INTO m FROM '/nowhere' FILE_FORMAT = (TYPE = CSV)",
        "CREATE OR REPLACE TABLE m (a INT)",
        "DROP TABLE m",
        "ALTER TABLE m ADD COLUMN x INT",
        "ALTER TABLE m RENAME COLUMN id TO x",
        "ALTER TABLE m SET TBLPROPERTIES ('materialized-table.definition-query' = 'SELECT 1')",
        "CALL sys.copy(source_table => 'orders', target_table => 'm')",
    ):
        with pytest.raises(Exception, match=r"materialized table|primary keys|partition columns"):
            orders(statement)
    with pytest.raises(Exception, match="materialized table"):
        spark.table("orders").select("id", "dt").writeTo("m").append()
    assert len(orders("SELECT * FROM m")) == 2
    orders("ALTER TABLE m SET TBLPROPERTIES ('snapshot.num-retained.max' = '50')")
    assert refresh(orders, "m")[0] == "NONE"


def test_a_suspended_table_is_left_alone(orders: Sql) -> None:
    orders("CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' SECOND AS SELECT id FROM orders")
    orders("ALTER MATERIALIZED TABLE m SUSPEND")
    orders("INSERT INTO orders VALUES (3, 'c', 30, '2024-01-03')")
    ((_, mode, *_, note),) = orders("CALL paimon.sys.refresh_materialized_tables(including_tables => '.*[.]m')")
    assert (mode, note) == ("SKIPPED", "it is suspended")
    assert refresh(orders, "m")[:3] == ("INCREMENTAL", None, 1), "who asks for it gets it"
    orders("INSERT INTO m VALUES (99)")
    orders("ALTER MATERIALIZED TABLE m RESUME WITH ('snapshot.num-retained.max' = '60')")
    mode, _, _, note = refresh(orders, "m")
    assert (mode, note) == ("FULL", "nothing is known of a refresh before")
    assert orders("SELECT * FROM m ORDER BY id") == [(1,), (2,), (3,)]
    properties: dict[str, str] = dict(orders("SHOW TBLPROPERTIES m"))
    assert properties["snapshot.num-retained.max"] == "60"


def test_tables_come_behind_those_that_they_read(orders: Sql) -> None:
    fresh = "FRESHNESS = INTERVAL '1' SECOND"
    orders(f"CREATE MATERIALIZED TABLE z {fresh} AS SELECT id, city FROM orders")
    orders("CREATE VIEW between AS SELECT city FROM z")
    orders(f"CREATE MATERIALIZED TABLE a {fresh} AS SELECT city, count(*) AS n FROM between GROUP BY city")
    orders("CREATE MATERIALIZED TABLE later FRESHNESS = INTERVAL '9' DAYS AS SELECT id FROM orders")
    orders("INSERT INTO orders VALUES (3, 'c', 30, '2024-01-03')")
    orders("SELECT reflect('java.lang.Thread', 'sleep', 1100L)")
    database = orders("SELECT current_database()")[0][0]
    rows = orders(f"CALL paimon.sys.refresh_materialized_tables(including_databases => '{database}')")
    assert [(str(table).split(".")[1], mode) for table, mode, *_ in rows] == [
        ("z", "INCREMENTAL"),
        ("a", "FULL"),
        ("later", "SKIPPED"),
    ]
    assert orders("SELECT * FROM a ORDER BY city") == [("a", 1), ("b", 1), ("c", 1)]
    orders("DROP TABLE orders")
    orders("SELECT reflect('java.lang.Thread', 'sleep', 1100L)")
    rows = orders(f"CALL paimon.sys.refresh_materialized_tables(including_databases => '{database}')")
    assert [(str(table).split(".")[1], mode) for table, mode, *_ in rows] == [
        ("z", "FAILED"),
        ("a", "NONE"),
        ("later", "SKIPPED"),
    ]


def test_another_query_may_bring_columns_behind_the_others(orders: Sql) -> None:
    orders("CREATE MATERIALIZED TABLE m AS SELECT id, city FROM orders")
    orders("ALTER MATERIALIZED TABLE m AS SELECT id, city, price FROM orders WHERE id > 1")
    assert orders("SELECT * FROM m ORDER BY id") == [(1, "a", None), (2, "b", None)]
    mode, _, _, note = refresh(orders, "m")
    assert (mode, note) == ("FULL", "the query has changed")
    assert orders("SELECT * FROM m") == [(2, "b", 20)]
    for query in (
        "SELECT id FROM orders",
        "SELECT city, id, price FROM orders",
        "SELECT id, 1 AS city, price FROM orders",
    ):
        with pytest.raises(Exception, match="new query gives"):
            orders(f"ALTER MATERIALIZED TABLE m AS {query}")
    with pytest.raises(Exception, match="reads the table itself"):
        orders("ALTER MATERIALIZED TABLE m AS SELECT * FROM m")
    made = "CREATE OR ALTER MATERIALIZED TABLE m {} AS SELECT id, city, price, dt FROM orders"
    orders(made.format("WITH ('snapshot.num-retained.max' = '60') FRESHNESS = INTERVAL '2' DAY"))
    properties: dict[str, str] = dict(orders("SHOW TBLPROPERTIES m"))
    assert properties["materialized-table.refresh-mode"] == "FULL"
    assert properties["snapshot.num-retained.max"] == "60"
    with pytest.raises(Exception, match="partition columns of a materialized table stay"):
        orders(made.format("PARTITIONED BY (dt)"))
    orders("CREATE MATERIALIZED TABLE IF NOT EXISTS m AS SELECT 1 AS x")
    with pytest.raises(Exception, match="already exists"):
        orders("CREATE MATERIALIZED TABLE m AS SELECT 1 AS x")
    with pytest.raises(Exception, match="no materialized table"):
        orders("CREATE OR ALTER MATERIALIZED TABLE orders AS SELECT 1 AS x")


def test_the_tables_of_a_query_may_change_their_columns(orders: Sql) -> None:
    orders("CREATE MATERIALIZED TABLE m AS SELECT * FROM orders")
    orders("ALTER TABLE orders ADD COLUMN more INT")
    orders("INSERT INTO orders VALUES (3, 'c', 30, '2024-01-03', 7)")
    mode, _, rows, note = refresh(orders, "m")
    assert (mode, rows, "columns of" in str(note)) == ("FULL", 3, True)
    assert orders("SELECT * FROM m WHERE id = 3") == [(3, "c", 30, "2024-01-03")]
    orders("ALTER TABLE orders ALTER COLUMN price TYPE BIGINT")
    orders("INSERT INTO orders VALUES (4, 'c', 3000000000, '2024-01-03', 7)")
    with pytest.raises(Exception, match="CAST_OVERFLOW"):
        refresh(orders, "m")
    assert len(orders("SELECT * FROM m")) == 3
    orders("ALTER TABLE orders DROP COLUMN price")
    with pytest.raises(Exception, match="gives column price no more"):
        refresh(orders, "m")


def test_a_query_means_what_it_meant_when_it_was_written(orders: Sql, spark: SparkSession) -> None:
    orders("CREATE TABLE at (t TIMESTAMP)")
    orders("INSERT INTO at VALUES (TIMESTAMP '2024-01-01 23:30:00 UTC')")
    orders("CREATE MATERIALIZED TABLE m AS SELECT date_format(t, 'HH') AS h FROM at")
    orders("INSERT INTO at VALUES (TIMESTAMP '2024-01-01 22:30:00 UTC')")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        assert refresh(orders, "m")[0] == "INCREMENTAL"
        assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert orders("SELECT * FROM m ORDER BY h") == [("22",), ("23",)]


def test_the_names_of_a_query_are_made_whole(orders: Sql) -> None:
    database = orders("SELECT current_database()")[0][0]
    orders("CREATE FUNCTION doubled(x INT) RETURNS INT RETURN x * 2")
    orders(
        "CREATE MATERIALIZED TABLE m AS WITH c AS (SELECT * FROM orders /* mine */), orders AS (SELECT * FROM c)"
        f" SELECT doubled(id) AS d, (SELECT count(*) FROM {database}.orders) AS n FROM orders o"
        " WHERE id IN (SELECT id FROM paimon.`" + str(database) + "`.`orders$ro`)"
    )
    whole = f"`paimon`.`{database}`"
    ((query,),) = orders(
        f"SELECT definition_query FROM paimon.sys.materialized_tables WHERE database_name = '{database}'"
    )
    assert query == (
        f"WITH c AS (SELECT * FROM {whole}.`orders` /* mine */), orders AS (SELECT * FROM c)"
        f" SELECT {whole}.`doubled`(id) AS d, (SELECT count(*) FROM {whole}.`orders`) AS n FROM orders o"
        f" WHERE id IN (SELECT id FROM {whole}.`orders$ro`)"
    )
    orders("USE paimon.default")
    assert refresh(orders, f"{database}.m")[0] == "FULL"
    assert orders(f"SELECT * FROM {database}.m ORDER BY d") == [(2, 2), (4, 2)]


def test_tables_are_shown(orders: Sql) -> None:
    database = orders("SELECT current_database()")[0][0]
    orders("CREATE MATERIALIZED TABLE m1 AS SELECT id FROM orders")
    orders(
        "CREATE MATERIALIZED TABLE m2 WITH ('materialized-table.refresh-on-create' = 'false')"
        " REFRESH_MODE = FULL AS SELECT id FROM orders"
    )
    assert orders("SELECT * FROM m2") == []
    assert orders("SHOW MATERIALIZED TABLES") == [(database, "m1"), (database, "m2")]
    assert orders(f"SHOW MATERIALIZED TABLES IN {database} LIKE '%2'") == [(database, "m2")]
    assert orders(
        "SELECT table_name, freshness, refresh_mode, logical_refresh_mode, status, last_refresh IS NULL, last_mode,"
        f" snapshot_id, due FROM paimon.sys.materialized_tables WHERE database_name = '{database}' ORDER BY 1"
    ) == [
        ("m1", "INTERVAL '3' MINUTE", "CONTINUOUS", "AUTOMATIC", "ACTIVATED", False, "FULL", 1, False),
        ("m2", "INTERVAL '1' HOUR", "FULL", "FULL", "ACTIVATED", True, None, None, True),
    ]
    orders("CREATE TABLE plain LIKE m1")
    orders("INSERT INTO plain VALUES (1)")
    orders("CALL sys.copy(source_table => 'm1', target_table => 'copied')")
    orders("INSERT INTO copied VALUES (9)")
    assert orders("SHOW MATERIALIZED TABLES LIKE 'm_'") == [(database, "m1"), (database, "m2")]
    for statement in ("DROP MATERIALIZED TABLE plain", "ALTER MATERIALIZED TABLE plain SUSPEND"):
        with pytest.raises(Exception, match="no materialized table"):
            orders(statement)
    orders("DROP MATERIALIZED TABLE IF EXISTS nowhere")


def test_a_table_that_flink_keeps_is_left_to_it(orders: Sql) -> None:
    orders("CREATE MATERIALIZED TABLE m AS SELECT id FROM orders")
    orders(
        "ALTER TABLE m SET TBLPROPERTIES ('materialized-table.refresh-handler-description' = 'job 7',"
        " 'materialized-table.refresh-handler-bytes' = 'rO0ABXQ=')"
    )
    for statement in ("ALTER MATERIALIZED TABLE m REFRESH", "ALTER MATERIALIZED TABLE m SUSPEND"):
        with pytest.raises(Exception, match="kept up to date by job 7"):
            orders(statement)
    ((_, mode, *_),) = orders("CALL paimon.sys.refresh_materialized_tables(including_tables => '.*[.]m')")
    assert mode == "SKIPPED"
    orders("ALTER TABLE m SET TBLPROPERTIES ('materialized-table.refresh-status' = 'SUSPENDED')")
    orders("ALTER MATERIALIZED TABLE m RESUME")
    assert refresh(orders, "m")[0] == "NONE"


def test_a_rival_refresh_is_a_conflict(orders: Sql, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    orders("CREATE MATERIALIZED TABLE m AS SELECT id FROM orders")
    orders("INSERT INTO orders VALUES (3, 'c', 30, '2024-01-03')")
    home = _refresher(spark)
    identifier = Identifier(str(orders("SELECT current_database()")[0][0]), "m")
    from_inside = SessionRefresher._query

    def slow(self: SessionRefresher, *arguments: object) -> object:
        found = from_inside(self, *arguments)  # type: ignore[arg-type]
        monkeypatch.setattr(SessionRefresher, "_query", from_inside)
        rows_of = found.rows_of

        def late(*given: object) -> object:
            made = rows_of(*given)  # type: ignore[arg-type]
            return made

        found.rows_of = late  # type: ignore[assignment]
        pin = found.pin

        def overtaken() -> object:
            now = pin()
            home.refresh(identifier)
            return now

        found.pin = overtaken  # type: ignore[assignment]
        return found

    monkeypatch.setattr(SessionRefresher, "_query", slow)
    with pytest.raises(CommitConflictError, match="changed while it was being refreshed"):
        home.refresh(identifier)
    assert orders("SELECT * FROM m ORDER BY id") == [(1,), (2,), (3,)]


def test_without_spark_nothing_is_refreshed(orders: Sql, spark: SparkSession) -> None:
    orders("CREATE MATERIALIZED TABLE m AS SELECT id FROM orders")
    catalog = _refresher(spark)._catalog
    with pytest.raises(Exception, match="refreshed by Spark"):
        call(catalog, "refresh_materialized_tables")


def _refresher(spark: SparkSession) -> SessionRefresher:
    bridge = Bridge.of(spark.sparkContext)
    session = spark._jsparkSession
    return SessionRefresher(bridge.jvm, session, bridge.session(session).all()["paimon"])
