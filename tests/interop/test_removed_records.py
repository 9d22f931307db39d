"""Records that a delete removes (``partial-update.remove-record-on-delete``): Java and we answer alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from .java import JavaPaimon

_PARTIAL = (
    "'primary-key' = 'k', 'bucket' = '1', 'merge-engine' = 'partial-update',"
    " 'partial-update.remove-record-on-delete' = 'true'"
)


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("options", ["", ", 'write-only' = 'true'"])
def test_a_row_begins_with_the_values_of_the_delete_before_it(
    spark: SparkSession, warehouse: Path, java: JavaPaimon, options: str, compacted: bool
) -> None:
    name = f"removed.{'w' if options else 't'}{int(compacted)}"

    def read() -> list[list[object]]:
        ours = sorted([list(row) for row in spark.sql(f"SELECT * FROM {name}").collect()], key=str)
        assert java.read(warehouse, name) == ours
        return ours

    spark.sql("CREATE DATABASE IF NOT EXISTS removed")
    spark.sql(f"CREATE TABLE {name} (k INT, x STRING, y INT, z INT) TBLPROPERTIES ({_PARTIAL}{options})")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a', 10, NULL), (2, 'b', 20, NULL), (3, 'c', 30, 3)")
    spark.sql(f"DELETE FROM {name} WHERE k < 3")
    assert read() == [[3, "c", 30, 3]]
    java.write(warehouse, name, [[2, None, None, 2]], "--option", "write-only=true")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'z', NULL, 1)")
    assert read() == [[1, "z", 10, 1], [2, "b", 20, 2], [3, "c", 30, 3]]
    if compacted:
        java.compact(warehouse, name)
        assert read() == [[1, "z", 10, 1], [2, "b", 20, 2], [3, "c", 30, 3]]
    spark.sql(f"DELETE FROM {name} WHERE k = 1")
    spark.sql(f"CALL sys.compact(table => '{name}', compact_strategy => 'full')")
    java.write(warehouse, name, [[1, "new", None, None]], "--option", "write-only=true")
    assert read() == [[1, "new", None, None], [2, "b", 20, 2], [3, "c", 30, 3]]
