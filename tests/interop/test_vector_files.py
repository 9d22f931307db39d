"""Vectors in files of their own: pypaimon reads what we wrote, and we what pypaimon wrote, in one table."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from .pypaimon_side import PyPaimon


@pytest.mark.parametrize("file_format", ["parquet", "avro"])
def test_both_sides_read_and_write_files_of_vectors(spark: SparkSession, pypaimon: PyPaimon, file_format: str) -> None:
    name = f"default.py_vectors_{file_format}"
    spark.sql(
        f"CREATE TABLE {name} (id INT, e ARRAY<FLOAT>, s STRING) TBLPROPERTIES ('row-tracking.enabled' = 'true',"
        " 'data-evolution.enabled' = 'true', 'vector-field' = 'e', 'field.e.vector-dim' = '2',"
        f" 'vector.file.format' = '{file_format}')"
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, array(1.0, 2.0), 'a'), (2, array(0.0, 0.5), NULL)")
    spark.sql(f"UPDATE {name} SET e = array(7.0, 8.0) WHERE id = 2")
    theirs = pypaimon.read(name).sort_by("id").to_pylist()
    assert theirs == [{"id": 1, "e": [1.0, 2.0], "s": "a"}, {"id": 2, "e": [7.0, 8.0], "s": None}]

    if file_format == "avro":
        return  # pypaimon writes no vectors in Avro
    more = pa.table(
        {"id": pa.array([3], pa.int32()), "e": pa.array([[3.0, 4.0]], pa.list_(pa.float32(), 2)), "s": ["ü"]}
    )
    pypaimon.write(name, more)
    assert [tuple(row) for row in spark.sql(f"SELECT * FROM {name} ORDER BY id").collect()] == [
        (1, [1.0, 2.0], "a"),
        (2, [7.0, 8.0], None),
        (3, [3.0, 4.0], "ü"),
    ]
    assert len(pypaimon.read(name)) == 3
