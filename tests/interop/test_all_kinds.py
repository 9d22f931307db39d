"""Keyed tables of every kind: merge engine, buckets, changelog and deletion vectors in all combinations.

Both sides write to one table and compact it in turns; after each step they read the same rows, and the same changes.
The file formats take turns, so that each meets each engine, kind of buckets and changelog; with
``PAIMON_TEST_KINDS=all`` every combination has every format.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.selection import in_turns

from .java import JavaPaimon

ENGINES = {
    "deduplicate": "",
    "partial-update": "",
    "aggregation": ", 'fields.n.aggregate-function' = 'sum', 'fields.s.aggregate-function' = 'max'",
    "first-row": "",
}
BUCKETS = {"fixed": "'bucket' = '2'", "dynamic": "'bucket' = '-1'", "postponed": "'bucket' = '-2'"}
PRODUCERS = ("none", "input", "lookup", "full-compaction")
FORMATS = ("parquet", "orc", "avro")


def kinds() -> list[tuple[str, str, str, bool, str]]:
    """The combinations that there can be."""
    found: list[tuple[str, str, str, bool, str]] = []
    for engine, buckets, producer, vectors in product(ENGINES, BUCKETS, PRODUCERS, (False, True)):
        # A first row is never deleted, and its changes are known when it comes.
        if engine == "first-row" and (vectors or producer in ("input", "full-compaction")):
            continue
        if vectors and producer == "full-compaction":
            continue  # Paimon refuses it
        formats = in_turns(FORMATS, len(found))
        found += [(engine, buckets, producer, vectors, file_format) for file_format in formats]
    return found


@pytest.mark.parametrize(("engine", "buckets", "producer", "vectors", "file_format"), kinds())
def test_both_sides_write_compact_and_read_one_table(
    spark: SparkSession,
    java: JavaPaimon,
    warehouse: Path,
    engine: str,
    buckets: str,
    producer: str,
    vectors: bool,
    file_format: str,
) -> None:
    words = (engine, buckets, producer, "vectors" if vectors else "plain", file_format)
    name = "default.kind_" + "_".join(words).replace("-", "_")
    spark.sql(
        f"CREATE TABLE {name} (k INT NOT NULL, n INT, s STRING) TBLPROPERTIES ('primary-key' = 'k', {BUCKETS[buckets]},"
        f" 'merge-engine' = '{engine}', 'changelog-producer' = '{producer}', 'file.format' = '{file_format}',"
        f" 'deletion-vectors.enabled' = '{str(vectors).lower()}'{ENGINES[engine]})"
    )
    both = _Both(spark, java, warehouse, name)
    spark.sql(f"INSERT INTO {name} VALUES (1, 1, 'a'), (2, 2, NULL), (3, 3, 'c')")
    spark.sql(f"INSERT INTO {name} VALUES (2, NULL, 'b'), (4, 4, 'd'), (1, 5, NULL)")
    assert len(both.read()) == 4

    if buckets == "postponed":
        # PaimonCheck lets rows wait, and compacts no waiting rows.
        java.write(warehouse, name, [[1, 7, "java"], [5, 5, "java"]])
    else:
        java.write(warehouse, name, [[1, 7, "java"], [5, 5, "java"]], *(["--bucket", "0"] * (buckets == "dynamic")))
        java.compact(warehouse, name)
        assert len(both.read()) == 5

    spark.sql(f"INSERT INTO {name} VALUES (5, 1, 'ours'), (6, 6, 'ours')")
    spark.sql(f"CALL sys.compact('{name}', compact_strategy => 'full')")
    assert len(both.read()) == 6
    if producer != "none" and not (vectors and producer == "input"):
        # Java's batch reads skip level 0 where there are deletion vectors, and with it the changelog of the input.
        assert both.changes()
    spark.sql(f"DROP TABLE {name}")


class _Both:
    """Reads one table with both sides."""

    def __init__(self, spark: SparkSession, java: JavaPaimon, warehouse: Path, name: str) -> None:
        self._spark = spark
        self._java = java
        self._warehouse = warehouse
        self._name = name

    def read(self) -> list[list[Any]]:
        """The rows, which both read."""
        ours = sorted(([*row] for row in self._spark.sql(f"SELECT * FROM {self._name}").collect()), key=json.dumps)
        assert self._java.read(self._warehouse, self._name) == ours
        return ours

    def changes(self) -> list[list[Any]]:
        """The changes of all snapshots, which both read."""
        newest = self._spark.sql(f"SELECT max(snapshot_id) FROM {self._name}$snapshots").collect()[0][0]
        options = {"incremental-between": f"0,{newest}", "incremental-between-scan-mode": "changelog"}
        hint = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        log = f"{self._name}$audit_log"
        found = self._spark.sql(f"SELECT * FROM {log} /*+ OPTIONS({hint}) */").collect()
        ours = sorted(map(list, found), key=json.dumps)
        given = [word for key, value in options.items() for word in ("--option", f"{key}={value}")]
        theirs: list[list[Any]] = [row for _, *row in self._java.changes(self._warehouse, log, *given)]
        assert ours == sorted(theirs, key=json.dumps)
        return ours
