"""Bitmaps and sketches are united to the bytes that Java's libraries write."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.bytes.roaring64 import Roaring64
from paimon_sql.format.options import TableOptions
from paimon_sql.format.schema.types import DataField, VarBinaryType
from paimon_sql.storage.expressions.kernels.sorting import Segments
from paimon_sql.storage.merge.aggregates.base import Steps
from paimon_sql.storage.merge.aggregates.registry import FUNCTIONS

# Written by Java: the parts, then their union.
VECTORS = {
    "rbm64": (
        "010300000000000000000200030000000000100000020001000000010004000000000000000000000000000000000004000000000000000001010000000000000004000000000000104c53020000000000000001000000fe03000000010203000000010002000300010201000000a086010201000000003c03000000000000000000000002000000",
        "010300000000000000000200000000ff0000020004000000000000030004000000000000000000000000000000000004000000000000000003010000000000000004000000ffffffffffff020000000000000001000000fe030000000102020000000200040001000a0000000100400d0900010201000000ffff03000000000000000000000002000000",
        "010500000000000000000200000000ff000002000200000000100000030001000003010004000000000000000000000000000000000004000000000000000001010000000000000004000000000000000003030000000000000004000000000000104c53020000000000000004000000ffffffffffff040000000000000001000000fe06000000010004000000010001000300010201000000a086010201000000003c01000a0000000100400d0900010201000000ffff0005000000000000000000000004000000",
    ),
    "theta_sketch": (
        "02030300001acc93030000000000803f15f97dcbbd86a105c397fc1281709d1eba40b3c1da06695d",
        "02030300001acc93020000000000803f40de2ee1c9db3d08ba40b3c1da06695d",
        "02030300001acc93040000000000803f15f97dcbbd86a10540de2ee1c9db3d08c397fc1281709d1eba40b3c1da06695d",
    ),
    "theta_sketch of nothing": ("01030300001e0000", "01030300001e0000", "01030300001e0000"),
    "theta_sketch of one": (
        "01030300001e0000",
        "01030300003acc93e0f48bea9983c37c",
        "01030300003acc93e0f48bea9983c37c",
    ),
    "hll_sketch": (
        "0201070c030803002bf2fb06862ff90d75816607",
        "0201070c030802007581660781bc5d06",
        "0201070c030804007581660781bc5d062bf2fb06862ff90d",
    ),
    "rbm32": (
        "3a300000010000000000020010000000010002000300",
        "3a30000001000000000001001000000003000500",
        "3a3000000100000000000300100000000100020003000500",
    ),
}


def united(name: str, *values: bytes | None) -> bytes | None:
    function = FUNCTIONS[name](DataField(0, "c", VarBinaryType()), TableOptions({}))
    segments = Segments(np.zeros(len(values), dtype=np.int64), 1)
    found: bytes | None = function.apply(Steps(pa.array(values, pa.binary()), segments))[0].as_py()
    return found


@pytest.mark.parametrize("case", VECTORS)
def test_the_union_has_the_bytes_that_java_writes(case: str) -> None:
    left, right, both = map(bytes.fromhex, VECTORS[case])
    assert united(case.split(" ")[0], left, None, right) == both


@pytest.mark.parametrize("name", ["rbm32", "rbm64", "hll_sketch", "theta_sketch"])
def test_broken_bytes_are_refused_by_column_and_function(name: str) -> None:
    with pytest.raises(InvalidInputError, match=f"Column 'c' holds bytes that the aggregate function '{name}'"):
        united(name, b"\x07junk", b"junk")
    assert united(name, None, b"junk") == b"junk"


def test_runs_of_32_bit_numbers_are_stored_as_runs() -> None:
    left, right = BitMap(range(1, 90)), BitMap(range(80, 200))
    assert united("rbm32", left.serialize(), right.serialize()) == bytes.fromhex("3b300000010000c60001000100c600")


numbers = st.integers(0, 300) | st.integers(0, 2**64 - 1) | st.integers(0, 400).map(lambda n: n * 65536)
ranges = st.builds(lambda start, size: range(start, start + size), st.integers(0, 2**17), st.integers(0, 9000))
sets = st.lists(numbers, max_size=80).map(set) | ranges.map(set)


def bitmap_of(values: set[int]) -> Roaring64:
    bitmap = Roaring64()
    for key in {v >> 16 for v in values}:
        lows = np.array(sorted(v & 0xFFFF for v in values if v >> 16 == key), dtype=np.uint16)
        bitmap.add(key, lows)
    return bitmap


@settings(max_examples=40)
@given(left=sets, right=sets)
def test_a_bitmap_of_64_bit_numbers_is_read_as_it_was_written(left: set[int], right: set[int]) -> None:
    bitmap = bitmap_of(left)
    again = Roaring64.read(bitmap.write())
    assert again.write() == bitmap.write()
    assert list(again.numbers()) == sorted(left)
    again.unite(bitmap_of(right))
    assert list(Roaring64.read(again.write()).numbers()) == sorted(left | right)


@pytest.mark.parametrize("cut", [1, 9, 30, -1])
def test_a_bitmap_that_ends_too_early_is_refused(cut: int) -> None:
    whole = bytes.fromhex(VECTORS["rbm64"][0])
    with pytest.raises(ValueError, match=r"are cut off|are not a Roaring64Bitmap"):
        Roaring64.read(whole[:cut])
