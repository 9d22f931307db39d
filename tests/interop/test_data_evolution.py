"""Tables with data evolution: Java reads the columns that we write beside, and goes on writing the table."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from .java import JavaPaimon


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_both_sides_write_and_read_a_table_whose_columns_lie_in_several_files(
    spark: SparkSession, java: JavaPaimon, warehouse: Path, file_format: str
) -> None:
    name = f"default.evolving_{file_format}"
    spark.sql(
        f"CREATE TABLE {name} (id INT, b INT, c STRING, p STRING) PARTITIONED BY (p) TBLPROPERTIES"
        f" ('row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'file.format' = '{file_format}',"
        " 'compaction.min.file-num' = '2')"
    )

    def both() -> list[list[object]]:
        ours = [[*row] for row in spark.sql(f"SELECT * FROM {name} ORDER BY id").collect()]
        assert sorted(java.read(warehouse, name)) == ours
        by_id = {row[0]: row[1] for row in spark.sql(f"SELECT id, _ROW_ID FROM {name}").collect()}
        assert len(set(by_id.values())) == len(by_id)
        return ours

    spark.sql(f"INSERT INTO {name} SELECT id, id * 10, concat('c', id), 'x' FROM range(0, 4, 1, 1)")
    java.write(warehouse, name, [[4, 40, "c4", "x"], [5, 50, None, "y"]])
    assert len(both()) == 6
    spark.sql(f"UPDATE {name} SET b = -b WHERE id IN (1, 4, 5)")
    spark.sql(
        f"MERGE INTO {name} t USING (SELECT id, 'new' AS c FROM range(3, 7)) s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET c = s.c WHEN NOT MATCHED THEN INSERT (id, c, p) VALUES (s.id, s.c, 'y')"
    )
    expected: list[list[object]] = [
        *([i, i * (-10 if i == 1 else 10), f"c{i}", "x"] for i in range(3)),
        [3, 30, "new", "x"],
        [4, -40, "new", "x"],
        [5, -50, "new", "y"],
        [6, None, "new", "y"],
    ]
    assert both() == expected
    assert java.read(warehouse, name, "--columns", "c,id") == sorted([row[2], row[0]] for row in expected)
    spark.sql(f"ALTER TABLE {name} ADD COLUMN w INT")
    spark.sql(f"UPDATE {name} SET w = id WHERE id > 4")
    expected = [[*row, row[0] if int(str(row[0])) > 4 else None] for row in expected]
    assert both() == expected
    spark.sql(f"CALL sys.reassign_row_id('{name}')")
    assert both() == expected
    java.write(warehouse, name, [[7, 70, "c7", "x", 7]])
    spark.sql(f"CALL sys.compact('{name}')")
    assert both() == [*expected, [7, 70, "c7", "x", 7]]
    spark.sql(f"UPDATE {name} SET w = 0")
    assert {row[4] for row in both()} == {0}
    spark.sql(f"DROP TABLE {name}")
