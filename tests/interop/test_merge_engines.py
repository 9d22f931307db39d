"""Tables of all merge engines: Java and we write to one table, compact it in turn, and read the same rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from .java import JavaPaimon

AGGREGATES = {
    "s": ("BIGINT", "sum"),
    "p": ("DECIMAL(20, 4)", "product"),
    "x": ("STRING", "max"),
    "n": ("DOUBLE", "min"),
    "lv": ("INT", "last_value"),
    "ln": ("INT", "last_non_null_value"),
    "fv": ("INT", "first_value"),
    "fn": ("INT", "first_non_null_value"),
    "la": ("STRING", "listagg"),
    "ba": ("BOOLEAN", "bool_and"),
    "c": ("ARRAY<INT>", "collect"),
    "m": ("MAP<STRING, INT>", "merge_map"),
    "u": ("ARRAY<STRUCT<i: INT, t: STRING>>", "nested_update"),
    "r": ("BINARY", "rbm32"),
}
FIRST = (
    "5, 1.5, 'b', 0.5, NULL, 1, NULL, NULL, 'one', true, array(1, 2), map('x', 1),"
    " array(named_struct('i', 1, 't', 'a')), X'3a300000010000000000020010000000010002000300'"
)
SECOND = (
    "-7, 2.25, 'c', -0.0, 2, NULL, 2, 2, 'two', NULL, array(2), map('x', 2, 'y', 1),"
    " array(named_struct('i', 1, 't', 'b')), X'3a30000001000000000001001000000003000500'"
)
THIRD = [10, "0.5", "a", 9.0, 3, 3, 3, 3, None, False, [9], [["z", 3]], [{"i": 2, "t": "c"}], None]

CASES: dict[str, tuple[str, dict[str, str], list[str], list[Any]]] = {
    "aggregation": (
        ", ".join(f"{name} {kind}" for name, (kind, _) in AGGREGATES.items()),
        {f"fields.{name}.aggregate-function": function for name, (_, function) in AGGREGATES.items()}
        | {"merge-engine": "aggregation", "fields.u.nested-key": "i"},
        [FIRST, SECOND],
        THIRD,
    ),
    "partial_update": (
        "a INT, b STRING",
        {"merge-engine": "partial-update"},
        ["1, NULL", "NULL, 'x'"],
        [None, "java"],
    ),
    "sequence_groups": (
        "a INT, g INT, b BIGINT, h INT, free STRING",
        {
            "merge-engine": "partial-update",
            "fields.g.sequence-group": "a",
            "fields.h.sequence-group": "b",
            "fields.b.aggregate-function": "sum",
        },
        ["1, 5, 10, 1, 'f'", "2, 4, 20, 2, NULL"],
        [3, 6, 5, 1, None],
    ),
    "first_row": ("a INT", {"merge-engine": "first-row"}, ["1", "2"], [3]),
}


@pytest.mark.parametrize(
    ("case", "file_format"),
    [*((case, "parquet") for case in CASES), ("aggregation", "orc"), ("aggregation", "avro")],
)
def test_both_sides_merge_to_the_same_rows(
    case: str, file_format: str, spark: SparkSession, java: JavaPaimon, warehouse: Path
) -> None:
    columns, options, ours, theirs = CASES[case]
    name = f"default.engine_{case}_{file_format}"
    given = {"primary-key": "k", "bucket": "1", "file.format": file_format, **options}
    properties = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    spark.sql(f"CREATE TABLE {name} (k INT NOT NULL, {columns}) TBLPROPERTIES ({properties})")
    for values in ours:
        spark.sql(f"INSERT INTO {name} VALUES (1, {values})")
    spark.sql(f"INSERT INTO {name} VALUES (2, {ours[0]}), (2, {ours[1]})")
    before = shown(spark, name)
    assert theirs_of(java, warehouse, name) == before

    java.write(warehouse, name, [[1, *theirs], [3, *theirs]])
    java.compact(warehouse, name)
    both = shown(spark, name)
    assert len(both) == 3
    assert theirs_of(java, warehouse, name) == both

    spark.sql(f"INSERT INTO {name} VALUES (3, {ours[0]})")
    spark.sql(f"CALL sys.compact('{name}')")
    assert theirs_of(java, warehouse, name) == shown(spark, name)


def shown(spark: SparkSession, name: str) -> list[list[Any]]:
    """The rows as Java's checker prints them."""
    rows = [[plain(value) for value in row] for row in spark.sql(f"SELECT * FROM {name}").collect()]
    return sorted(rows, key=json.dumps)


def theirs_of(java: JavaPaimon, warehouse: Path, name: str) -> list[list[Any]]:
    """The rows as Java reads them."""
    return [[plain(value) for value in row] for row in java.read(warehouse, name)]


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, list) and value and hasattr(value[0], "asDict"):
        value = [row.asDict() for row in value]
    if isinstance(value, bytes | bytearray):
        return "0x" + value.hex()
    if isinstance(value, dict):
        return sorted([key, plain(item)] for key, item in value.items())
    if hasattr(value, "asDict"):
        return {key: plain(item) for key, item in value.asDict().items()}
    if isinstance(value, list):
        # Nested rows with a key have no order.
        return sorted(value, key=json.dumps) if value and isinstance(value[0], dict) else [plain(v) for v in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
