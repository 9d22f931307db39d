"""Java reads what we wrote, we read what Java wrote, and both go on writing to one table."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from .java import JavaPaimon

COLUMNS = "k INT NOT NULL, p STRING, d DOUBLE, n DECIMAL(20, 3), t TIMESTAMP_NTZ, y DATE, b BINARY, a ARRAY<STRING>"
VALUES = """
    (1, 'a', 1.5, 1.125, TIMESTAMP_NTZ '2024-01-02 03:04:05.678901', DATE '1969-12-31', X'00FF', array('x', NULL)),
    (2, 'b', CAST('NaN' AS DOUBLE), -12345678901234567.891, NULL, DATE '2024-02-29', X'', array()),
    (3, 'a', -0.0, NULL, TIMESTAMP_NTZ '1950-06-07 00:00:00', NULL, NULL, NULL),
    (4, 'ünïcode ☃', NULL, 0, TIMESTAMP_NTZ '2262-01-01 00:00:00', DATE '9999-12-31', X'01', array('')),
    (-5, NULL, 1e300, 7, TIMESTAMP_NTZ '2024-01-01 00:00:00', DATE '2024-01-01', X'AB', array('z'))
"""
CHANGES = """
    (2, 'b', 2.5, 2, NULL, DATE '2024-03-01', X'02', array('new')),
    (6, 'a', 6.5, 6, NULL, NULL, NULL, NULL)
"""
FROM_JAVA = [
    [3, "a", 33.0, "33.000", "2024-05-05 05:05:05", "2024-05-05", "0x33", ["java"]],
    [7, "c", None, None, None, None, None, None],
]

KINDS = {
    "append": ("", False),
    "append_partitioned": ("PARTITIONED BY (p)", False),
    "append_fixed_bucket": ("TBLPROPERTIES ('bucket' = '3', 'bucket-key' = 'k')", False),
    "keyed": ("TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')", True),
    "keyed_buckets": ("TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '4')", True),
    "keyed_partitioned": ("PARTITIONED BY (p) TBLPROPERTIES ('primary-key' = 'p,k', 'bucket' = '2')", True),
    "keyed_write_only": ("TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2', 'write-only' = 'true')", True),
    "keyed_thin": ("TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2', 'data-file.thin-mode' = 'true')", True),
}


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("kind", KINDS)
def test_both_sides_read_and_write_one_table(
    kind: str, file_format: str, spark: SparkSession, java: JavaPaimon, warehouse: Path
) -> None:
    clauses, keyed = KINDS[kind]
    if kind == "keyed_thin" and file_format != "parquet":
        pytest.skip("one format shows the thin mode")
    name = f"default.{kind}_{file_format}"
    option = f"'file.format' = '{file_format}'"
    clauses = clauses[:-1] + f", {option})" if "TBLPROPERTIES" in clauses else f"{clauses} TBLPROPERTIES ({option})"
    spark.sql(f"CREATE TABLE {name} ({COLUMNS}) {clauses}")
    rows = VALUES.replace("NULL, 1e300", "'n', 1e300") if "partitioned" in kind and keyed else VALUES
    spark.sql(f"INSERT INTO {name} VALUES {rows}")
    spark.sql(f"INSERT INTO {name} VALUES {CHANGES}")
    ours = rows_of(spark, name)
    assert len(ours) == (6 if keyed else 7)
    assert java.read(warehouse, name) == ours

    java.write(warehouse, name, FROM_JAVA)
    both = rows_of(spark, name)
    assert len(both) == (7 if keyed else 9)
    assert java.read(warehouse, name) == both

    if keyed:
        java.compact(warehouse, name)
        assert rows_of(spark, name) == both
    spark.sql(f"INSERT INTO {name} VALUES (8, 'a', 8, 8, NULL, NULL, NULL, NULL)")
    if keyed:
        spark.sql(f"CALL sys.compact('{name}')")
    last = rows_of(spark, name)
    assert len(last) == len(both) + 1
    assert java.read(warehouse, name) == last


def rows_of(spark: SparkSession, name: str) -> list[list[Any]]:
    """A table's rows as we read them, in the form of Java's answers."""
    return sorted(([_json(v) for v in row] for row in spark.table(name).collect()), key=json.dumps)


def _json(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, (bytes, bytearray)):
        return "0x" + bytes(value).hex()
    if isinstance(value, float) and value != value:
        return "NaN"
    if isinstance(value, list):
        return [_json(v) for v in value]
    return value
