"""Bucket numbers and row hashes, against golden tables, recorded answers of Java and a plain model of the hash."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import InvalidInputError, InvalidOptionError
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.rows.bucket_functions import bucket_function, row_hash
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from tests.format.golden_files import golden_files
from tests.format.java_rows import JavaRow, java_nested_rows, java_rows


def _by_type() -> list[tuple[t.DataType, list[JavaRow]]]:
    return [(d, list(rows)) for d, rows in itertools.groupby(java_rows(), lambda java: java.data_type)]


def _column(data_type: t.DataType, rows: Sequence[JavaRow]) -> pa.Array:
    return pa.array([java.value for java in rows], arrow_type(data_type))


def test_every_row_of_the_golden_tables_lies_in_its_bucket(golden: Path) -> None:
    cases = set()
    for file in golden_files(golden):
        buckets = int(file.schema.options.get("bucket", "-1"))
        if buckets < 2 or file.path is None:
            continue
        fields = file.schema.select(file.schema.bucket_keys)
        function = bucket_function(file.schema.options.get("bucket-function.type", "default"))
        columns = [column.combine_chunks() for column in file.table(fields).columns]
        assigned = function.assign(columns, [f.type for f in fields], buckets)
        assert set(assigned.tolist()) == {file.bucket}, file
        cases.add(file.case)
    assert {"append_fixed_bucket", "bucket_mod", "key_negative_int", "key_string", "key_timestamp_bool"} <= cases


def test_hashes_and_buckets_of_every_type_are_those_of_java() -> None:
    for data_type, rows in _by_type():
        column, types = _column(data_type, rows), [data_type]
        assert row_hash([column], types).tolist() == [java.hash for java in rows], data_type
        buckets = bucket_function("default").assign([column], types, 1_000_003)
        assert buckets.tolist() == [java.default for java in rows], data_type


def test_hashes_of_rows_of_many_and_nested_fields_are_those_of_java() -> None:
    for name, types, _, row, hashed in java_nested_rows():
        assert row_hash(decode_columns(types, [row, row]), types).tolist() == [hashed] * 2, name


def test_the_mod_function_takes_the_floored_remainder_as_java_does() -> None:
    for data_type, rows in _by_type():
        if isinstance(data_type, t.IntType | t.BigIntType):
            buckets = bucket_function("mod").assign([_column(data_type, rows)], [data_type], 7)
            assert buckets.tolist() == [java.mod for java in rows], data_type


def test_the_hive_function_agrees_with_java() -> None:
    types = set()
    for data_type, rows in _by_type():
        if all(java.hive is None or java.value is None for java in rows):
            continue
        buckets = bucket_function("hive").assign([_column(data_type, rows)], [data_type], 1_000_003)
        assert buckets.tolist() == [java.hive for java in rows], data_type
        types.add(type(data_type))
    assert len(types) == 14


def test_the_hive_function_folds_columns_and_counts_nulls_as_zero() -> None:
    columns = [pa.array([1, None, 3]), pa.array(["ab", "c", None])]
    types = [t.BigIntType(), t.string_type()]
    text = 31 * ord("a") + ord("b")
    buckets = bucket_function("hive").assign(columns, types, 1000)
    assert buckets.tolist() == [(31 + text) % 1000, ord("c"), 93]


def _rotate(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & 0xFFFFFFFF


def _murmur(row: bytes) -> int:
    """Murmur3 of whole words with seed 42, one word after the other."""
    mixed = 42
    for at in range(0, len(row), 4):
        word = int.from_bytes(row[at : at + 4], "little")
        word = _rotate(word * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF
        mixed = (_rotate(mixed ^ word, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    mixed ^= len(row)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        mixed = (mixed ^ mixed >> shift) * factor & 0xFFFFFFFF
    return mixed - (mixed >> 31 << 32)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.none() | st.integers(-(2**31), 2**31 - 1), st.none() | st.text(max_size=60)), max_size=40))
def test_rows_of_mixed_lengths_hash_like_each_row_alone(values: list[tuple[int | None, str | None]]) -> None:
    types = [t.IntType(), t.string_type()]
    columns = [pa.array([v[i] for v in values], arrow_type(d)) for i, d in enumerate(types)]
    wanted = [_murmur(RowCodec(types).encode(row)[4:]) for row in values]
    assert row_hash(columns, types).tolist() == wanted


def test_a_few_very_long_rows_hash_like_the_others() -> None:
    texts = ["x" * 5000, *("y" * n for n in range(100))]
    wanted = [_murmur(RowCodec([t.string_type()]).encode([text])[4:]) for text in texts]
    assert row_hash([pa.array(texts)], [t.string_type()]).tolist() == wanted


def test_rows_in_several_blocks_hash_alike() -> None:
    numbers = np.arange(70_000, dtype=np.int64) - 35_000
    hashes = row_hash([pa.array(numbers)], [t.BigIntType()])
    for at in (0, 32_767, 32_768, 69_999):
        assert hashes[at] == _murmur(RowCodec([t.BigIntType()]).encode([int(numbers[at])])[4:])


def test_the_smallest_hash_has_the_bucket_of_its_magnitude() -> None:
    columns, types = [pa.array([530_389_981])], [t.BigIntType()]
    assert row_hash(columns, types).tolist() == [-(2**31)]
    assert bucket_function("default").assign(columns, types, 7).tolist() == [2**31 % 7]


@pytest.mark.parametrize("name", ["default", "mod", "hive"])
def test_no_rows_have_no_buckets(name: str) -> None:
    buckets = bucket_function(name).assign([pa.array([], pa.int32())], [t.IntType()], 3)
    assert buckets.dtype == np.int32
    assert len(buckets) == 0


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("mod", [t.string_type()]),
        ("mod", [t.IntType(), t.IntType()]),
        ("hive", [t.TimestampType()]),
        ("hive", [t.ArrayType()]),
        ("default", []),
        ("hive", []),
    ],
)
def test_a_bucket_key_that_a_function_cannot_take_is_refused(name: str, types: list[t.DataType]) -> None:
    with pytest.raises(InvalidInputError):
        bucket_function(name).check(types)


@pytest.mark.parametrize("name", ["default", "mod", "hive"])
def test_no_buckets_are_refused(name: str) -> None:
    columns: list[Any] = [pa.array([1], pa.int32())]
    with pytest.raises(InvalidInputError, match="0 buckets"):
        bucket_function(name).assign(columns, [t.IntType()], 0)


def test_an_unknown_function_is_refused_by_its_option() -> None:
    with pytest.raises(InvalidOptionError, match=r"bucket-function\.type") as caught:
        bucket_function("modulo")
    assert caught.value.key == "bucket-function.type"
    assert bucket_function("MOD").name == "mod"
