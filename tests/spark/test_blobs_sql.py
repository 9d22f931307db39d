"""Columns of blobs in SQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]
EVOLVES = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'"
AS_DESCRIPTORS = "/*+ OPTIONS('blob-as-descriptor' = 'true') */"


def test_every_way_of_writing_fills_files_of_blobs(sql: Sql, spark: SparkSession, tmp_path: Path) -> None:
    sql(f"CREATE TABLE t (id INT, b BINARY, p STRING) PARTITIONED BY (p) TBLPROPERTIES ({EVOLVES}, 'blob-field' = 'b')")
    sql("INSERT INTO t SELECT id, CAST(repeat('x', 100) AS BINARY), concat('p', id % 2) FROM range(4)")
    spark.createDataFrame([(4, bytearray(b"df"), "p0")], "id INT, b BINARY, p STRING").writeTo("t").append()
    spark.createDataFrame([(5, bytearray(b"file"), "p1")], "id INT, b BINARY, p STRING").write.parquet(f"{tmp_path}/f")
    sql(f"COPY INTO t FROM '{tmp_path}/f' FILE_FORMAT = (TYPE = PARQUET)")
    assert sql("SELECT id, length(b) FROM t ORDER BY id") == [*((i, 100) for i in range(4)), (4, 2), (5, 4)]
    sql("INSERT OVERWRITE t PARTITION (p = 'p1') VALUES (7, NULL)")
    sql(f"CREATE TABLE c TBLPROPERTIES ({EVOLVES}, 'blob-field' = 'b') AS SELECT * FROM t WHERE id < 0")
    sql(f"INSERT INTO c {AS_DESCRIPTORS} SELECT * FROM t {AS_DESCRIPTORS}")
    assert sql("SELECT * FROM c WHERE id > 2 ORDER BY id") == [(4, b"df", "p0"), (7, None, "p1")]
    assert sql("SELECT count(*) FROM c$files WHERE file_path LIKE '%.blob' AND write_cols[0] = 'b'")[0] != (0,)
    assert "files 1 of" in str(sql("EXPLAIN SELECT id FROM c WHERE p = 'p0'"))


def test_changes_set_blobs_and_leave_others(sql: Sql) -> None:
    sql(
        "CREATE TABLE t (id INT, b BINARY COMMENT '__BLOB_FIELD; pictures', a ARRAY<BINARY>, s STRING) TBLPROPERTIES"
        f" ({EVOLVES}, 'deletion-vectors.enabled' = 'true', 'blob-field' = 'a')"
    )
    sql("INSERT INTO t VALUES (1, X'01', array(X'0A'), 'x'), (2, X'02', NULL, 'y'), (3, NULL, array(), 'z')")
    sql("UPDATE t SET b = concat(b, X'FF') WHERE id = 1")
    sql(
        "MERGE INTO t USING (SELECT 2 AS id, X'22' AS n UNION ALL SELECT 9, X'99') s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET a = array(t.b, s.n), s = 'm'"
        " WHEN NOT MATCHED THEN INSERT (id, b) VALUES (s.id, s.n)"
    )
    sql("DELETE FROM t WHERE id = 3")
    expected = [
        (1, b"\x01\xff", [b"\x0a"], "x"),
        (2, b"\x02", [b"\x02", b"\x22"], "m"),
        (9, b"\x99", None, None),
    ]
    assert sql("SELECT * FROM t ORDER BY id") == expected
    sql("CALL sys.compact(table => 't', options => 'compaction.min.file-num=2,blob-compaction.enabled=true')")
    assert sql("SELECT count(*) FROM t$files") == [(3,)]
    assert sql("SELECT * FROM t ORDER BY id") == expected
    assert sql("SELECT id FROM t WHERE b = X'99' OR a IS NOT NULL ORDER BY id") == [(1,), (2,), (9,)]
    sql("CALL sys.copy(source_table => 't', target_table => 'u')")
    assert sql("SELECT * FROM u ORDER BY id") == expected
    assert sql("DESCRIBE t")[1] == ("b", "binary", "pictures")


def test_changes_tell_rows_with_their_blobs(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, b BINARY) TBLPROPERTIES ({EVOLVES}, 'blob-field' = 'b')")
    sql("INSERT INTO t VALUES (1, X'01')")
    sql("INSERT INTO t VALUES (2, X'02'), (3, NULL)")
    assert sql("SELECT * FROM t /*+ OPTIONS('incremental-between' = '1,2') */ ORDER BY id") == [(2, b"\x02"), (3, None)]
    sql("UPDATE t SET b = X'03' WHERE id = 3")
    with pytest.raises(Exception, match="columns were changed in files of their own"):
        sql("SELECT * FROM t /*+ OPTIONS('incremental-between' = '1,3') */")


def test_references_are_made_by_functions_and_kept_by_changes(sql: Sql, spark: SparkSession) -> None:
    photos = Path(str(spark.conf.get("spark.sql.catalog.paimon.warehouse"))) / "photos"
    photos.mkdir()
    (photos / "x").write_bytes(b"0123")
    here = sql("SELECT current_database()")[0][0]
    sql(f"CREATE TABLE t (id INT, b BINARY) TBLPROPERTIES ({EVOLVES}, 'blob-field' = 'b')")
    sql(f"INSERT INTO t {AS_DESCRIPTORS} VALUES (1, sys.path_to_descriptor('{photos}/x')), (2, X'02')")
    sql(
        f"CREATE TABLE v (id INT, d BINARY, v BINARY) TBLPROPERTIES ({EVOLVES}, 'blob-descriptor-field' = 'd',"
        " 'blob-view-field' = 'v')"
    )
    sql(
        f"INSERT INTO v SELECT id, sys.path_to_descriptor(concat('{photos}/', 'x')),"
        f" sys.blob_view('{here}.t', 'b', _ROW_ID) FROM t"
    )
    sql("MERGE INTO v USING (SELECT 1 AS id) s ON v.id = s.id WHEN MATCHED THEN UPDATE SET v = v.v, d = v.d, id = 10")
    assert sql("SELECT * FROM v ORDER BY id") == [(2, b"0123", b"\x02"), (10, b"0123", b"0123")]
    shown = sql(f"SELECT sys.descriptor_to_string(d) FROM v {AS_DESCRIPTORS}")
    assert shown[0] == (f"BlobDescriptor{{version=2, uri='{photos}/x', offset=0, length=-1}}",)
    assert sql("SELECT sys.descriptor_to_string(CAST(NULL AS BINARY))") == [(None,)]
    for call, reason in (
        ("sys.blob_view('t', 'b', 1)", "db.t or catalog.db.t"),
        (f"sys.blob_view('{here}.t', 'id', _ROW_ID)", "no column 'id' of blobs"),
        ("sys.blob_view(concat('default', '.t'), 'b', _ROW_ID)", "literal texts"),
        ("sys.descriptor_to_string(X'00')", "no descriptor of a blob"),
        ("sys.path_to_descriptor(1)", "path_to_descriptor"),
    ):
        with pytest.raises(Exception, match=reason):
            sql(f"SELECT {call} FROM t")


@pytest.mark.parametrize(
    ("columns", "options", "reason"),
    [
        ("id INT, b BINARY", "'blob-field' = 'b'", "needs rows with ids"),
        ("id INT, b BINARY", f"{EVOLVES}, 'blob-field' = 'c'", "no column"),
        ("b BINARY", f"{EVOLVES}, 'blob-field' = 'b'", "blobs alone"),
        ("id INT, b STRING", f"{EVOLVES}, 'blob-field' = 'b'", "cannot be a blob"),
        ("id INT, b MAP<DOUBLE, BINARY>", f"{EVOLVES}, 'blob-field' = 'b'", "keys of another type"),
        ("id INT, b ARRAY<BINARY>", f"{EVOLVES}, 'blob-view-field' = 'b'", "cannot be a blob"),
        ("id INT, b BINARY", "'primary-key' = 'b', 'blob-field' = 'b'", "cannot be in the primary key"),
        ("id INT, b BINARY", f"{EVOLVES}, 'partition' = 'b', 'blob-field' = 'b'", "cannot be in the partition key"),
    ],
)
def test_what_cannot_be_a_blob_is_refused(sql: Sql, columns: str, options: str, reason: str) -> None:
    with pytest.raises(Exception, match=reason):
        sql(f"CREATE TABLE t ({columns}) TBLPROPERTIES ({options})")
