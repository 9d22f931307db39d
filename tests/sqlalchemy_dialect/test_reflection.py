"""What an inspector finds: databases, tables, views, columns, keys, comments."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from pyspark.sql import SparkSession

from paimon_sql.spark.jvm.compat import HAS_VIEWS
from paimon_sql.sqlalchemy.conversion import ARRAY, MAP, STRUCT
from tests.sqlalchemy_dialect.conftest import Connect


@pytest.fixture(scope="module", autouse=True)
def tables(session: SparkSession) -> None:
    """Tables that all tests read."""
    session.sql(
        "CREATE TABLE orders (id INT NOT NULL COMMENT 'its number', day DATE NOT NULL, buyer STRING DEFAULT 'nobody',"
        " price DECIMAL(10, 2), code CHAR(3), note VARCHAR(20), at TIMESTAMP, local TIMESTAMP_NTZ, tags ARRAY<STRING>,"
        " counts MAP<STRING, BIGINT>, place STRUCT<`x y`: DOUBLE, name: STRING>, raw BINARY, small TINYINT, ok BOOLEAN)"
        " COMMENT 'what was sold' PARTITIONED BY (day) TBLPROPERTIES ('primary-key' = 'day,id', 'bucket' = '1')"
    )
    session.sql("CREATE TABLE `per%cent_` (`a.b` INT)")
    session.sql("CREATE TABLE perXcentX (i INT)")
    session.sql("CREATE DATABASE other")
    session.sql("CREATE TABLE other.log (line STRING)")
    session.sql("CREATE DATABASE archive.old")
    session.sql("CREATE TABLE archive.old.orders (k BIGINT)")
    session.sql("CREATE DATABASE archive.`c.d`")
    session.sql("CREATE TABLE archive.`c.d`.t (k BIGINT)")
    if HAS_VIEWS:
        session.sql("CREATE VIEW buyers (name COMMENT 'who') COMMENT 'all of them' AS SELECT buyer FROM orders")


@pytest.fixture
def inspector(connect: Connect) -> sa.Inspector:
    """An inspector of the database ``default``."""
    return sa.inspect(connect("/default"))


@pytest.fixture
def plain(session: SparkSession) -> Iterator[str]:
    """A table of Spark's own, by the schema that names its database."""
    session.sql("CREATE TABLE spark_catalog.default.plain (I INT COMMENT 'one') USING parquet")
    yield "spark_catalog.default"
    session.sql("DROP TABLE spark_catalog.default.plain")


def test_databases_are_schemas_of_their_catalog(inspector: sa.Inspector) -> None:
    assert inspector.default_schema_name == "default"
    assert inspector.get_schema_names() == ["default", "other"]
    assert {"archive.old", "archive.`c.d`"} <= set(inspector.get_schema_names(catalog="archive"))


def test_tables_are_listed_by_schema_and_catalog(inspector: sa.Inspector) -> None:
    assert inspector.get_table_names() == ["orders", "per%cent_", "perXcentX"]
    assert inspector.get_table_names("other") == ["log"]
    assert inspector.get_table_names("archive.old") == ["orders"]
    assert inspector.get_table_names("archive.`c.d`") == ["t"]
    assert inspector.get_table_names("nosuch") == []
    assert inspector.get_temp_table_names() == []


@pytest.mark.skipif(not HAS_VIEWS, reason="Spark asks catalogs for views since 4.2")
def test_views_are_listed_apart_from_tables(inspector: sa.Inspector) -> None:
    assert inspector.get_view_names() == ["buyers"]
    assert inspector.get_view_names("other") == []
    assert inspector.has_table("buyers")
    assert inspector.get_view_definition("buyers") == "SELECT buyer FROM orders"
    assert inspector.get_table_comment("buyers") == {"text": "all of them"}
    ((name, comment),) = ((c["name"], c["comment"]) for c in inspector.get_columns("buyers"))
    assert (name, comment) == ("name", "who")
    assert inspector.get_pk_constraint("buyers")["constrained_columns"] == []


def test_a_table_is_found_by_its_exact_name_alone(inspector: sa.Inspector) -> None:
    assert inspector.has_table("orders") and not inspector.has_table("ORDERS")
    assert not inspector.has_table("orders", "other")
    assert inspector.has_table("orders", "archive.old") and inspector.has_table("t", "archive.`c.d`")
    assert [c["name"] for c in inspector.get_columns("per%cent_")] == ["a.b"]
    assert [c["name"] for c in inspector.get_columns("perXcentX")] == ["i"]


def test_columns_have_types_nullability_defaults_and_comments(inspector: sa.Inspector) -> None:
    found = {column["name"]: column for column in inspector.get_columns("orders")}
    dialect = inspector.dialect
    assert {name: str(column["type"].compile(dialect)) for name, column in found.items()} == {
        "id": "INT",
        "day": "DATE",
        "buyer": "STRING",
        "price": "DECIMAL(10, 2)",
        "code": "CHAR(3)",
        "note": "VARCHAR(20)",
        "at": "TIMESTAMP_LTZ",
        "local": "TIMESTAMP_NTZ",
        "tags": "ARRAY<STRING>",
        "counts": "MAP<STRING, BIGINT>",
        "place": "STRUCT<`x y`: DOUBLE, `name`: STRING>",
        "raw": "BINARY",
        "small": "TINYINT",
        "ok": "BOOLEAN",
    }
    assert [name for name, column in found.items() if not column["nullable"]] == ["id", "day"]
    assert (found["buyer"]["default"], found["id"]["default"]) == ("'nobody'", None)
    assert (found["id"]["comment"], found["day"]["comment"]) == ("its number", None)
    types = (type(found[name]["type"]) for name in ("at", "tags", "counts", "place"))
    assert list(types) == [sa.TIMESTAMP, ARRAY, MAP, STRUCT]


def test_keys_and_comments_of_a_table_are_found(inspector: sa.Inspector) -> None:
    assert inspector.get_pk_constraint("orders") == {"constrained_columns": ["day", "id"], "name": None}
    assert inspector.get_table_comment("orders") == {"text": "what was sold"}
    assert inspector.get_table_comment("log", "other") == {"text": None}
    assert inspector.get_pk_constraint("orders", "archive.old")["constrained_columns"] == []


def test_there_are_no_indexes_and_no_other_constraints(inspector: sa.Inspector) -> None:
    assert inspector.get_indexes("orders") == []
    assert inspector.get_foreign_keys("orders") == []
    assert inspector.get_unique_constraints("orders") == []
    assert inspector.get_check_constraints("orders") == []


@pytest.mark.parametrize("ask", ["get_columns", "get_pk_constraint", "get_table_comment", "get_indexes"])
def test_a_missing_table_is_an_error(inspector: sa.Inspector, ask: str) -> None:
    with pytest.raises(sa.exc.NoSuchTableError, match=r"other\.nosuch"):
        getattr(inspector, ask)("nosuch", "other")


def test_system_tables_are_found_by_name(inspector: sa.Inspector) -> None:
    assert inspector.has_table("orders$snapshots") and not inspector.has_table("orders$nosuch")
    assert "snapshot_id" in [column["name"] for column in inspector.get_columns("orders$snapshots")]
    snapshots = sa.Table("orders$snapshots", sa.MetaData(), autoload_with=inspector.engine)
    with inspector.engine.connect() as connection:
        assert connection.execute(sa.select(snapshots.c.snapshot_id)).all() == []


def test_temporary_views_are_those_of_the_connection(connect: Connect) -> None:
    engine = connect("/other")
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TEMPORARY VIEW passing AS SELECT 1 AS one, 'a' AS name")
        inspector = sa.inspect(connection)
        assert inspector.get_temp_view_names() == ["passing"]
        assert inspector.has_table("passing") and not inspector.has_table("passing", "other")
        assert [column["name"] for column in inspector.get_columns("passing")] == ["one", "name"]
        passing = sa.Table("passing", sa.MetaData(), autoload_with=connection)
        assert connection.execute(sa.select(passing)).all() == [(1, "a")]
        assert inspector.get_view_names() == []
        assert sa.inspect(connect("/other")).get_temp_view_names() == []


def test_sparks_own_tables_are_found_whatever_their_letter_case(inspector: sa.Inspector, plain: str) -> None:
    assert "plain" in inspector.get_table_names(plain)
    assert inspector.has_table("PLAIN", plain)
    ((name, comment),) = ((c["name"], c["comment"]) for c in inspector.get_columns("plain", plain))
    assert (name.lower(), comment) == ("i", "one")
    assert inspector.get_pk_constraint("plain", plain)["constrained_columns"] == []


def test_a_url_names_a_catalog(connect: Connect) -> None:
    for url in ("/archive.old", "/old?catalog=archive"):
        inspector = sa.inspect(connect(url))
        assert (inspector.default_schema_name, inspector.get_table_names()) == ("old", ["orders"])
        assert "c.d" not in inspector.get_schema_names() and "`c.d`" in inspector.get_schema_names()
        with inspector.engine.connect() as connection:
            assert connection.exec_driver_sql("SELECT current_catalog(), current_database()").one() == (
                "archive",
                "old",
            )


def test_a_database_is_reflected_as_a_whole(connect: Connect) -> None:
    engine = connect("/default")
    metadata = sa.MetaData()
    metadata.reflect(engine)
    orders = metadata.tables["orders"]
    assert [column.name for column in orders.primary_key] == ["day", "id"]
    assert (orders.comment, orders.c.id.comment) == ("what was sold", "its number")
    assert orders.c.buyer.server_default is not None
    with engine.connect() as connection:
        assert connection.execute(sa.select(orders)).all() == []
