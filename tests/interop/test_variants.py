"""Variants whose parts have columns of their own cross between Java and us, whoever took them apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.variant_utils import VariantUtils

from .java import JavaPaimon
from .pypaimon_side import PyPaimon
from .test_pypaimon import ours

DOCUMENTS = [
    '{"a": 1, "b": "x", "c": [1, 2, {"d": null}], "e": {"f": 1.5, "g": true}}',
    '{"a": "no number", "b": null, "c": {"d": [[]]}, "e": [1]}',
    '{"a": 1.0, "rest": {"ünï": "☃", "n": 12345678901234567890123}}',
    '{"e": {"f": 100000000000000000000.25}, "z": {"y": 1e300}}',
    '{"b": "a text that is longer than the sixty-three bytes of a short one, as texts often are"}',
    "[1, null, [2]]",
    '"text"',
    "null",
    "{}",
    "9223372036854775807",
]
SHAPE = {
    "type": "ROW",
    "fields": [
        {"name": "a", "type": "INT"},
        {"name": "b", "type": "STRING"},
        {"name": "c", "type": {"type": "ARRAY", "element": "INT"}},
        {
            "name": "e",
            "type": {
                "type": "ROW",
                "fields": [{"name": "f", "type": "DECIMAL(30, 2)"}, {"name": "g", "type": "BOOLEAN"}],
            },
        },
    ],
}
GIVEN = json.dumps({"type": "ROW", "fields": [{"id": 0, "name": "v", "type": SHAPE}]})
# Java 1.4.2 knows the shape under its older name alone. The first five variants are objects.
_FOUND = "'variant.inferShreddingSchema' = 'true', 'variant.shredding.maxInferBufferRow' = '5'"
OPTIONS = {
    "given": f"'parquet.variant.shreddingSchema' = '{GIVEN}'",
    "found": _FOUND,
    "adaptive": f"{_FOUND}, 'variant.shredding.inferenceMode' = 'adaptive'",
}
KINDS = {
    "append": "'bucket' = '-1'",
    "merged": "'primary-key' = 'k', 'bucket' = '1', 'merge-engine' = 'partial-update'",
    "vectors": "'primary-key' = 'k', 'bucket' = '1', 'deletion-vectors.enabled' = 'true'",
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_both_sides_read_what_either_took_apart(
    kind: str, options: str, spark: SparkSession, java: JavaPaimon, warehouse: Path
) -> None:
    name = f"default.variants_{kind}_{options}"
    spark.sql(f"CREATE TABLE {name} (k INT NOT NULL, v VARIANT) TBLPROPERTIES ({KINDS[kind]}, {OPTIONS[options]})")
    values = ", ".join(f"({i}, parse_json('{d}'))" for i, d in enumerate(DOCUMENTS))
    spark.sql(f"INSERT INTO {name} VALUES {values}, (100, NULL)")
    assert shredded(warehouse, name)
    assert java_rows(java, warehouse, name) == our_rows(spark, name)

    before = shredded(warehouse, name)
    java.write(warehouse, name, [[i, d] for i, d in enumerate(DOCUMENTS[:5], start=8)])
    assert shredded(warehouse, name) > before
    both = our_rows(spark, name)
    assert len(both) == (16 if kind == "append" else 14)
    assert java_rows(java, warehouse, name) == both
    spark.sql(f"CALL sys.compact('{name}')")
    assert our_rows(spark, name) == both
    assert java_rows(java, warehouse, name) == both


def shredded(warehouse: Path, name: str) -> int:
    """How many of a table's files have columns of parts of variants."""
    files = (warehouse / "default.db" / name.removeprefix("default.")).rglob("data-*.parquet")
    return sum("typed_value" in str(pq.ParquetFile(file).schema) for file in files)


def our_rows(spark: SparkSession, name: str) -> list[tuple[int, Any]]:
    rows = spark.sql(f"SELECT k, to_json(v) AS v FROM {name}").collect()
    return sorted(((k, _numbers(v)) for k, v in rows), key=repr)


def java_rows(java: JavaPaimon, warehouse: Path, name: str) -> list[tuple[int, Any]]:
    return sorted(((k, _numbers(v)) for k, v in java.read(warehouse, name)), key=repr)


def _numbers(text: str | None) -> Any:
    return text and json.loads(text)


def test_variants_inside_rows_cross(spark: SparkSession, java: JavaPaimon, warehouse: Path) -> None:
    name = "default.variants_inside"
    spark.sql(f"CREATE TABLE {name} (v VARIANT, s STRUCT<x: VARIANT, n: INT>) TBLPROPERTIES ({OPTIONS['found']})")
    spark.sql(
        f"""INSERT INTO {name} VALUES (parse_json('{{"a": 1}}'), named_struct('x', parse_json('{{"b": 2}}'), 'n', 3))"""
    )
    assert shredded(warehouse, name) == 1
    (row,) = java.read(warehouse, name)
    assert row[0] == '{"a":1}'
    assert "2" in str(row[1])


def test_pypaimon_reads_variants_that_were_taken_apart(spark: SparkSession, pypaimon: PyPaimon) -> None:
    name = "default.py_variants_apart"
    spark.sql(f"CREATE TABLE {name} (k INT, v VARIANT) TBLPROPERTIES ({OPTIONS['given']})")
    values = ", ".join(f"({i}, parse_json('{d}'))" for i, d in enumerate(DOCUMENTS))
    spark.sql(f"INSERT INTO {name} VALUES {values}")
    assert sorted(map(_decoded, pypaimon.read(name).to_pylist())) == sorted(
        map(_decoded, ours(spark, name).to_pylist())
    )


def _decoded(row: dict[str, Any]) -> tuple[int, str]:
    return row["k"], VariantUtils.to_json(row["v"]["value"], row["v"]["metadata"])
