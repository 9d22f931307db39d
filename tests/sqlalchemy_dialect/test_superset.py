"""Superset's own questions: the calls that its ``BaseEngineSpec`` and ``Database`` make, without Superset.

Superset itself needs older versions of libraries than this project, so that it is not installed with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pandas as pd
import pytest
import sqlalchemy as sa
from pyspark.sql import SparkSession

from paimon_sql.spark.jvm.compat import HAS_VIEWS
from tests.sqlalchemy_dialect.conftest import Connect


@pytest.fixture(scope="module", autouse=True)
def sales(session: SparkSession) -> None:
    """The table of a dashboard."""
    session.sql(
        "CREATE TABLE sales (id BIGINT NOT NULL, day DATE COMMENT 'of the sale', shop STRING, amount DECIMAL(10, 2),"
        " at TIMESTAMP) COMMENT 'all sales' TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')"
    )
    session.sql(
        "INSERT INTO sales VALUES (1, DATE'2024-05-01', 'Paris', 10.5, TIMESTAMP'2024-05-01 10:00:00'),"
        " (2, DATE'2024-05-02', 'Oslo', 20, NULL), (3, DATE'2024-06-01', 'Oslo', 1, NULL)"
    )
    if HAS_VIEWS:
        session.sql("CREATE VIEW shops AS SELECT DISTINCT shop FROM sales")


@pytest.fixture
def engine(connect: Connect) -> Iterator[sa.Engine]:
    """As Superset makes it: no connection is kept."""
    made = connect("/default")
    yield sa.create_engine(made.url, poolclass=sa.pool.NullPool)


def test_the_lists_of_schemas_tables_and_views(engine: sa.Engine) -> None:
    inspector = sa.inspect(engine)
    assert "default" in inspector.get_schema_names()
    assert inspector.get_table_names("default") == ["sales"]
    assert inspector.get_view_names("default") == (["shops"] if HAS_VIEWS else [])
    assert inspector.has_table("sales", "default")


def test_the_details_of_a_table(engine: sa.Engine) -> None:
    inspector = sa.inspect(engine)
    columns = inspector.get_columns("sales", "default")
    # Superset shows the type as the dialect compiles it.
    assert [(c["name"], str(c["type"].compile(dialect=engine.dialect)), c["comment"]) for c in columns[:4]] == [
        ("id", "BIGINT", None),
        ("day", "DATE", "of the sale"),
        ("shop", "STRING", None),
        ("amount", "DECIMAL(10, 2)", None),
    ]
    assert inspector.get_table_comment("sales", "default")["text"] == "all sales"
    assert inspector.get_pk_constraint("sales", "default")["constrained_columns"] == ["id"]
    assert inspector.get_indexes("sales", "default") == []
    assert inspector.get_foreign_keys("sales", "default") == []


def test_the_preview_of_a_table(engine: sa.Engine) -> None:
    columns = sa.inspect(engine).get_columns("sales", "default")
    fields: list[sa.ColumnClause[object]] = [sa.column(c["name"]) for c in columns]
    quoted = ".".join(engine.dialect.identifier_preparer.quote(name) for name in ("default", "sales"))
    query = sa.select(*fields).select_from(sa.text(quoted)).limit(100)
    text = str(query.compile(engine, compile_kwargs={"literal_binds": True}))
    assert text == ("SELECT `id`, `day`, `shop`, `amount`, `at` \nFROM `default`.`sales`\n LIMIT 100")
    assert len(rows(engine, text)) == 3


def test_a_chart(engine: sa.Engine) -> None:
    table = sa.table("sales", schema="default")
    month: sa.Label[object] = sa.literal_column("date_trunc('MONTH', `at`)").label("__timestamp")
    total: sa.Label[object] = sa.func.sum(sa.column("amount")).label("SUM(amount)")
    shop: sa.ColumnClause[str] = sa.column("shop")
    query = (
        sa.select(month, shop, total)
        .select_from(table)
        .where(
            sa.column("day") >= sa.text("DATE'2024-05-01'"),
            sa.column("shop").in_(["Oslo", "Paris", "it's 100%"]),
            sa.column("shop").like("%a%"),
        )
        .group_by(sa.literal_column("date_trunc('MONTH', `at`)"), sa.column("shop"))
        .order_by(sa.desc(sa.column("SUM(amount)")))
        .limit(1000)
    )
    text = str(query.compile(engine, compile_kwargs={"literal_binds": True}))
    if engine.dialect.identifier_preparer._double_percents:
        text = text.replace("%%", "%")
    frame = pd.DataFrame.from_records(rows(engine, text), columns=["__timestamp", "shop", "SUM(amount)"])
    assert [str(value) for value in frame.iloc[0]] == ["2024-05-01 00:00:00", "Paris", "10.50"]


def test_explain_and_types_of_a_cursor(engine: sa.Engine) -> None:
    assert "Plan" in str(rows(engine, "EXPLAIN SELECT * FROM sales")[0][0])
    with closing(engine.raw_connection()) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT id, day, amount, at FROM sales LIMIT 1")
        assert [(name, kind) for name, kind, *_ in cursor.description] == [
            ("id", "BIGINT_TYPE"),
            ("day", "DATE_TYPE"),
            ("amount", "DECIMAL_TYPE"),
            ("at", "TIMESTAMP_TYPE"),
        ]
        cursor.close()


def rows(engine: sa.Engine, text: str) -> list[tuple[object, ...]]:
    """The rows of a statement by the driver's cursor, as Superset runs all of them."""
    with closing(engine.raw_connection()) as connection:
        cursor = connection.cursor()
        cursor.execute(text)
        found = [tuple(row) for row in cursor.fetchall()]
        cursor.close()
        return found
