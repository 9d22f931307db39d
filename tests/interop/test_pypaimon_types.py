"""All types of columns, keys and partitions cross between pypaimon and us unchanged.

What pypaimon 2.1 itself cannot do is left out, and said at each place.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from .pypaimon_side import PyPaimon
from .test_pypaimon import FORMATS, assert_same, ours

# A column's type in Flink's spelling, and values as SQL.
TYPES = {
    "BOOLEAN": ["true", "false"],
    "TINYINT": ["-128", "127"],
    "SMALLINT": ["-32768", "32767"],
    "INT": ["-2147483648", "2147483647"],
    "BIGINT": ["-9223372036854775808", "9223372036854775807"],
    "FLOAT": ["CAST('NaN' AS FLOAT)", "CAST(-1.25 AS FLOAT)"],
    "DOUBLE": ["CAST('-Infinity' AS DOUBLE)", "-0D"],
    "CHAR(3)": ["'abc'", "'ÄÖÜ'"],
    "VARCHAR(5)": ["''", "'☃☃☃☃☃'"],
    "STRING": ["'a string longer than the seven bytes of a short one'", "'𝄞'"],
    "BINARY(2)": ["X'00FF'", "X'0102'"],
    "VARBINARY(4)": ["X''", "X'00'"],
    "BYTES": ["X'000102030405060708090A'", "X'FF'"],
    "DECIMAL(5, 2)": ["-999.99", "0.01"],
    "DECIMAL(18, 0)": ["999999999999999999", "-1"],
    "DECIMAL(38, 10)": ["9999999999999999999999999999.9999999999", "-0.0000000001"],
    "DATE": ["DATE '0001-01-01'", "DATE '9999-12-31'"],
    "TIMESTAMP(0)": ["TIMESTAMP_NTZ '1969-12-31 23:59:59'", "TIMESTAMP_NTZ '2024-02-29 00:00:00'"],
    "TIMESTAMP(3)": ["TIMESTAMP_NTZ '1950-01-01 00:00:00.001'", "TIMESTAMP_NTZ '2024-02-29 12:34:56.789'"],
    "TIMESTAMP(6)": ["TIMESTAMP_NTZ '1950-01-01 00:00:00.000001'", "TIMESTAMP_NTZ '2024-02-29 12:34:56.789012'"],
    "TIMESTAMP(9)": ["TIMESTAMP_NTZ '1950-01-01 00:00:00.000001'", "TIMESTAMP_NTZ '2024-02-29 12:34:56.789012'"],
    "TIMESTAMP_LTZ(3)": ["TIMESTAMP '1950-01-01 00:00:00.001Z'", "TIMESTAMP '2024-02-29 12:34:56.789Z'"],
    "TIMESTAMP_LTZ(6)": ["TIMESTAMP '1950-01-01 00:00:00.000001Z'", "TIMESTAMP '2024-02-29 12:34:56.789012Z'"],
    "TIME(3)": ["0", "86399999"],
    "ARRAY<INT>": ["array(1, NULL, 3)", "array()"],
    "MAP<STRING, BIGINT>": ["map('a', 1, 'b', NULL)", "map()"],
    "ROW<a INT, b ARRAY<STRING>>": [
        "named_struct('a', 1, 'b', array('x', NULL))",
        "named_struct('a', NULL, 'b', NULL)",
    ],
    "ARRAY<ROW<m MAP<STRING, DECIMAL(4, 1)>>>": ["array(named_struct('m', map('k', 1.5)))", "array(NULL)"],
}


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("keyed", [False, True], ids=["append", "keyed"])
def test_every_type_crosses_both_ways(keyed: bool, file_format: str, spark: SparkSession, pypaimon: PyPaimon) -> None:
    name = f"default.py_types_{'keyed' if keyed else 'append'}_{file_format}"
    types = {kind: values for kind, values in TYPES.items() if not (file_format == "avro" and _not_avro(kind))}
    columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(types))
    key = ", PRIMARY KEY (k) NOT ENFORCED" if keyed else ""
    bucket = "'bucket' = '2', " if keyed else ""
    spark.sql(f"CREATE TABLE {name} (k INT NOT NULL, {columns}{key}) WITH ({bucket}'file.format' = '{file_format}')")
    rows = [", ".join(values[i] for values in types.values()) for i in range(2)]
    nothing = ", ".join("NULL" for _ in types)
    spark.sql(f"INSERT INTO {name} VALUES (1, {rows[0]}), (2, {rows[1]}), (3, {nothing})")
    written = ours(spark, name)
    assert_same(pypaimon.read(name), written)

    pypaimon.write(name, written.set_column(0, "k", pc.add(written["k"], pa.scalar(10, pa.int32()))))
    both = ours(spark, name)
    assert_same(pa.concat_tables([written, written]).drop(["k"]), both.drop(["k"]))
    assert_same(pypaimon.read(name), both)


def _not_avro(kind: str) -> bool:
    # Avro knows no time finer than microseconds. Into Avro files pypaimon writes no maps at all and no arrays that hold
    # a null, though it reads both.
    return kind == "TIMESTAMP(9)" or "MAP<" in kind or "ARRAY<" in kind


def test_maps_and_nulls_in_arrays_of_avro_files_are_read(spark: SparkSession, pypaimon: PyPaimon) -> None:
    name = "default.py_nested_avro"
    nested = {kind: values for kind, values in TYPES.items() if "MAP<" in kind or "ARRAY<" in kind}
    columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(nested))
    rows = ["(" + ", ".join(values[i] for values in nested.values()) + ")" for i in range(2)]
    spark.sql(f"CREATE TABLE {name} ({columns}) WITH ('file.format' = 'avro')")
    spark.sql(f"INSERT INTO {name} VALUES {', '.join(rows)}")
    assert_same(pypaimon.read(name), ours(spark, name))


def test_variants_cross_both_ways(spark: SparkSession, pypaimon: PyPaimon) -> None:
    name = "default.py_variants"
    spark.sql(f"CREATE TABLE {name} (k INT, v VARIANT)")
    values = """parse_json('{"a": [1, "x", null, 1.25]}'), parse_json('1'), parse_json('null'), parse_json('"ünï"')"""
    spark.sql(f"INSERT INTO {name} SELECT posexplode(array({values}))")
    written = ours(spark, name)
    assert_same(pypaimon.read(name), written)
    pypaimon.write(name, written)
    assert_same(ours(spark, name), pa.concat_tables([written, written]))
    texts = spark.sql(f"SELECT DISTINCT to_json(v) AS t FROM {name}").toArrow()["t"].to_pylist()
    assert sorted(texts) == ['"ünï"', "1", "null", '{"a":[1,"x",null,1.25]}']


KEYS = {
    "BOOLEAN": "k % 2 = 0",
    "TINYINT": "CAST(k - 15 AS TINYINT)",
    "SMALLINT": "CAST(k * 1000 AS SMALLINT)",
    "INT": "CAST(-k AS INT)",
    "BIGINT": "k * 10000000000",
    "STRING": "repeat('é', CAST(k AS INT))",
    "BYTES": "CAST(repeat('b', CAST(k AS INT)) AS BINARY)",
    "DECIMAL(9, 2)": "CAST(k / 4 AS DECIMAL(9, 2))",
    "DECIMAL(30, 5)": "CAST(CAST(k AS DECIMAL(10, 0)) * -12345678901234567.25 AS DECIMAL(30, 5))",
    "DATE": "date_add(DATE '1969-12-20', CAST(k AS INT))",
    "TIMESTAMP(3)": "TIMESTAMP_NTZ '1969-12-31 23:59:59.5' + make_dt_interval(0, 0, 0, k / 8)",
    "TIMESTAMP(6)": "TIMESTAMP_NTZ '1969-12-31 23:59:59.5' + make_dt_interval(0, 0, 0, k / 64)",
    "FLOAT": "CAST(k / 8 AS FLOAT)",
    "DOUBLE": "k / 8",
}


def test_keys_of_every_type_fall_into_the_same_buckets(spark: SparkSession, pypaimon: PyPaimon) -> None:
    name = "default.py_keys"
    columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(KEYS))
    names = ", ".join(f"c{i}" for i in range(len(KEYS)))
    values = ", ".join(KEYS.values())
    spark.sql(f"CREATE TABLE {name} ({columns}, v STRING, PRIMARY KEY ({names}) NOT ENFORCED) WITH ('bucket' = '7')")
    spark.sql(f"INSERT INTO {name} SELECT {values}, 'ours' FROM range(1, 31) AS r(k)")
    written = ours(spark, name)
    buckets = spark.sql(f"SELECT DISTINCT bucket FROM {name}$buckets").count()
    assert len(written) == 30 and buckets > 3

    pypaimon.write(name, written.set_column(len(KEYS), "v", pa.array(["theirs"] * 30)))
    both = ours(spark, name)
    assert both["v"].to_pylist() == ["theirs"] * 30
    assert_same(pypaimon.read(name), both)


@pytest.mark.parametrize("keyed", [False, True], ids=["append", "keyed"])
def test_partitions_of_many_types_are_the_same(keyed: bool, spark: SparkSession, pypaimon: PyPaimon) -> None:
    name = f"default.py_partitions_{keyed}"
    key = ", PRIMARY KEY (k, s, d, i) NOT ENFORCED" if keyed else ""
    options = "WITH ('bucket' = '2')" if keyed else ""
    spark.sql(f"CREATE TABLE {name} (k INT, v INT, s STRING, d DATE, i BIGINT{key}) PARTITIONED BY (s, d, i) {options}")
    rows = "(1, 1, 'a/b=c %', DATE '1969-01-02', -5), (2, 2, 'ünï', DATE '2024-02-29', 7)"
    spark.sql(f"INSERT INTO {name} VALUES {rows}" + ("" if keyed else ", (3, 3, NULL, NULL, NULL)"))
    written = ours(spark, name)
    assert_same(pypaimon.read(name), written)

    pypaimon.write(name, written.set_column(1, "v", pc.add(written["v"], pa.scalar(10, pa.int32()))))
    both = ours(spark, name)
    assert len(both) == (2 if keyed else 6)
    assert_same(pypaimon.read(name), both)
    held = spark.sql(f"SELECT partition FROM {name}$partitions").count()
    assert held == (2 if keyed else 3)
