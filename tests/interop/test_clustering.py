"""Append tables that are kept clustered, by Java and by us in turns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from .java import JavaPaimon
from .test_java import rows_of

BUCKETS = {
    "fixed": "'bucket' = '1', 'bucket-key' = 'k', 'bucket-append-ordered' = 'false'",
    "unaware": "'bucket' = '-1'",
}


@pytest.mark.parametrize("kind", BUCKETS)
def test_both_sides_go_on_from_the_levels_of_the_other(
    spark: SparkSession, java: JavaPaimon, warehouse: Path, kind: str
) -> None:
    name = f"default.clustered_{kind}"
    options = f"'clustering.incremental' = 'true', 'clustering.columns' = 'k', {BUCKETS[kind]}"
    spark.sql(
        f"CREATE TABLE {name} (k INT, v STRING) TBLPROPERTIES ({options}, 'num-sorted-run.compaction-trigger' = '3')"
    )
    expected: list[list[Any]] = []
    levels = []
    for n in range(4):
        new = [[(7 * i + n) % 40, f"ours {n}"] for i in range(20)]
        values = ", ".join(f"({k}, '{v}')" for k, v in new)
        spark.sql(f"INSERT INTO {name} VALUES {values}")
        spark.sql(f"CALL sys.compact('{name}')")
        theirs = [[(11 * i + n) % 40, f"java {n}"] for i in range(20)]
        java.write(warehouse, name, theirs, *(["--bucket", "0"] if kind == "fixed" else []))
        expected += [*new, *theirs]
        levels.append({row[0] for row in spark.sql(f"SELECT level FROM {name}$files").collect()})
    assert max(level for held in levels for level in held) == 3
    if kind == "fixed":
        java.compact(warehouse, name)
        assert [row[0] for row in spark.sql(f"SELECT level FROM {name}$files").collect()] == [3]
        assert spark.sql(f"CALL sys.compact('{name}', compact_strategy => 'full')").collect()
        assert [row[0] for row in spark.sql(f"SELECT level FROM {name}$files").collect()] == [3]
        assert [row[0] for row in spark.sql(f"SELECT k FROM {name}").collect()] == sorted(row[0] for row in expected)
    assert rows_of(spark, name) == java.read(warehouse, name) == sorted(expected, key=json.dumps)
