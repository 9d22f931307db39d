"""Bytes that look like descriptors of blobs: Java reads what we stored as the bytes that they are."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from paimon_sql.format.rows.blob_reference import BlobDescriptor

from .java import JavaPaimon


def test_java_reads_bytes_that_look_like_a_descriptor_as_bytes(
    spark: SparkSession, java: JavaPaimon, warehouse: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("the secret of the machine")
    looks = BlobDescriptor(str(tmp_path / "secret")).encode()
    options = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'blob-field' = 'b'"
    spark.sql(f"CREATE TABLE default.looks (id INT, b BINARY) TBLPROPERTIES ({options})")
    spark.sql(f"INSERT INTO default.looks VALUES (1, X'{looks.hex()}')")
    assert java.read(warehouse, "default.looks") == [[1, f"0x{looks.hex()}"]]
    spark.sql("DROP TABLE default.looks")
