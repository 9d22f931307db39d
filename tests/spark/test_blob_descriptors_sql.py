"""Descriptors of blobs through SQL and DataFrames: bytes are bytes, unless the write asks for descriptors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.errors import NotAllowedError
from paimon_sql.format.rows.blob_reference import BlobDescriptor
from tests.spark.conftest import Sql
from tests.web import Handler, listening

EVOLVES = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'"
ASKING = "/*+ OPTIONS('blob-as-descriptor' = 'true') */"


def descriptor(uri: object) -> bytes:
    return BlobDescriptor(str(uri)).encode()


@pytest.fixture
def web() -> Iterator[tuple[str, list[str]]]:
    """A server's address, and the paths that it was asked for."""
    asked: list[str] = []

    class Answer(Handler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"answer")

    with listening(Answer) as address:
        yield address, asked


@pytest.fixture
def listed(spark: SparkSession, sql: Sql, tmp_path: Path) -> Iterator[str]:
    """A catalog that allows blobs from a folder beside its warehouse; its name."""
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_bytes(b"0123")
    sql(
        f"CREATE CATALOG listed WITH ('type' = 'paimon', 'warehouse' = '{tmp_path}/wh',"
        f" 'blob.allowed-roots' = '{tmp_path}/photos')"
    )
    sql("CREATE DATABASE listed.d")
    yield "listed"
    sql("DROP CATALOG listed")


def test_what_was_uploaded_is_stored_and_opens_nothing(
    spark: SparkSession, sql: Sql, tmp_path: Path, web: tuple[str, list[str]]
) -> None:
    (tmp_path / "secret").write_text("the secret of the machine")
    given = [(1, descriptor(tmp_path / "secret")), (2, descriptor(f"{web[0]}/latest/meta-data"))]
    uploaded = spark.createDataFrame([(i, bytearray(b)) for i, b in given], "id INT, picture BINARY")
    uploaded.createOrReplaceTempView("uploaded")
    sql(f"CREATE TABLE uploads (id INT, picture BYTES) WITH ({EVOLVES}, 'blob-field' = 'picture')")
    sql("INSERT INTO uploads SELECT * FROM uploaded")
    uploaded.writeTo("uploads").append()
    sql("INSERT OVERWRITE uploads SELECT * FROM uploaded")
    sql("MERGE INTO uploads u USING uploaded n ON u.id = n.id WHEN MATCHED THEN UPDATE SET picture = n.picture")
    assert [(i, bytes(b)) for i, b in sql("SELECT * FROM uploads ORDER BY id")] == given
    sql(f"CREATE TABLE made WITH ({EVOLVES}, 'blob-field' = 'picture') AS SELECT * FROM uploads")
    assert [(i, bytes(b)) for i, b in sql("SELECT * FROM made ORDER BY id")] == given
    assert web[1] == []


def test_a_write_that_asks_is_refused_what_the_catalog_does_not_list(
    spark: SparkSession, sql: Sql, tmp_path: Path, web: tuple[str, list[str]]
) -> None:
    (tmp_path / "secret").write_text("the secret of the machine")
    sql(f"CREATE TABLE t (id INT, b BYTES) WITH ({EVOLVES}, 'blob-field' = 'b')")
    for uri in (tmp_path / "secret", f"{web[0]}/a?token=geheim"):
        for statement in (
            f"INSERT INTO t {ASKING} VALUES (1, sys.path_to_descriptor('{uri}'))",
            f"INSERT INTO t {ASKING} SELECT id, sys.path_to_descriptor('{uri}') FROM range(20)",
        ):
            with pytest.raises(Exception, match=r"blob\.allowed-roots") as caught:
                sql(statement)
            found = paimon_sql.paimon_error_of(caught.value)
            assert isinstance(found, NotAllowedError) and "geheim" not in str(found)
    assert web[1] == [] and sql("SELECT * FROM t") == []


def test_a_write_that_asks_copies_from_where_the_catalog_lists(
    spark: SparkSession, sql: Sql, tmp_path: Path, listed: str
) -> None:
    photo = f"sys.path_to_descriptor('{tmp_path}/photos/a.jpg')"
    sql(f"CREATE TABLE listed.d.t (id INT, b BYTES) WITH ({EVOLVES}, 'blob-field' = 'b')")
    sql(f"INSERT INTO listed.d.t {ASKING} VALUES (1, {photo}), (2, X'07')")
    sql(f"INSERT INTO listed.d.t {ASKING} SELECT 3 + id, {photo} FROM range(2)")
    rows = spark.sql(f"SELECT CAST(5 AS INT) AS id, {photo} AS b")
    rows.writeTo("listed.d.t").option("blob-as-descriptor", "true").append()
    expected = [(1, b"0123"), (2, b"\x07"), (3, b"0123"), (4, b"0123"), (5, b"0123")]
    assert sql("SELECT * FROM listed.d.t ORDER BY id") == expected
    with pytest.raises(Exception, match=r"blob\.allowed-roots"):
        sql(f"INSERT INTO listed.d.t {ASKING} VALUES (6, sys.path_to_descriptor('{tmp_path}/photos/../b'))")
    sql(f"CREATE TABLE listed.d.kept (id INT, b BYTES) WITH ({EVOLVES}, 'blob-descriptor-field' = 'b')")
    sql(f"INSERT INTO listed.d.kept VALUES (1, {photo})")
    assert sql("SELECT * FROM listed.d.kept") == [(1, b"0123")]


def test_blobs_are_copied_from_table_to_table_by_what_both_sides_ask(sql: Sql) -> None:
    sql(f"CREATE TABLE s (id INT, b BYTES) WITH ({EVOLVES}, 'blob-field' = 'b')")
    sql("INSERT INTO s VALUES (1, X'0102')")
    sql(f"CREATE TABLE t (id INT, b BYTES) WITH ({EVOLVES}, 'blob-field' = 'b')")
    sql(f"INSERT INTO t {ASKING} SELECT * FROM s {ASKING}")
    sql("SET spark.paimon.blob-as-descriptor = true")
    try:
        sql("INSERT INTO t SELECT * FROM s")
    finally:
        sql("RESET spark.paimon.blob-as-descriptor")
    assert sql("SELECT * FROM t") == [(1, b"\x01\x02")] * 2
    sql(
        f"CREATE TABLE made WITH ({EVOLVES}, 'blob-field' = 'b', 'blob-as-descriptor' = 'true')"
        f" AS SELECT * FROM s {ASKING}"
    )
    assert sql("SELECT * FROM made /*+ OPTIONS('blob-as-descriptor' = 'false') */") == [(1, b"\x01\x02")]


def test_changes_beside_columns_of_descriptors_copy_blobs_and_not_where_they_lie(
    sql: Sql, listed: str, tmp_path: Path
) -> None:
    photo = f"sys.path_to_descriptor('{tmp_path}/photos/a.jpg')"
    sql(
        f"CREATE TABLE listed.d.t (id INT, a BYTES, b BYTES, d BYTES) WITH ({EVOLVES}, 'blob-field' = 'a,b',"
        " 'blob-descriptor-field' = 'd')"
    )
    sql(f"INSERT INTO listed.d.t VALUES (1, X'01', X'02', {photo}), (2, X'03', X'04', NULL)")
    sql("UPDATE listed.d.t SET a = b WHERE id = 1")
    sql(f"UPDATE listed.d.t SET a = {photo} WHERE id = 2")
    sql("MERGE INTO listed.d.t t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET b = t.a, id = 10")
    looks = descriptor(f"{tmp_path}/photos/a.jpg")
    assert sql("SELECT * FROM listed.d.t ORDER BY id") == [
        (2, looks, b"\x04", None),
        (10, b"\x02", b"\x02", b"0123"),
    ]


def test_an_option_of_a_table_is_no_option_of_the_catalog(sql: Sql, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the secret of the machine")
    roots = f"'blob.allowed-roots' = '{tmp_path}'"
    sql(f"CREATE TABLE t (id INT, b BYTES) WITH ({EVOLVES}, 'blob-field' = 'b', {roots})")
    with pytest.raises(Exception, match=r"catalog's option 'blob\.allowed-roots'"):
        sql(f"INSERT INTO t {ASKING} VALUES (1, sys.path_to_descriptor('{tmp_path}/secret'))")
    with pytest.raises(Exception, match="belongs to a catalog"):
        sql(f"INSERT INTO t /*+ OPTIONS({roots}) */ VALUES (1, X'01')")
