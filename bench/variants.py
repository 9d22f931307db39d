"""Variants of the input: more or other columns, other orders of keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Int64s = npt.NDArray[np.int64]
Make = Callable[[np.random.Generator, Int64s], pa.Array]


@dataclass(frozen=True)
class Column:
    """A column beside those of all variants.

    Attributes:
        name: its name.
        type: its type in SQL.
        literal: a value in SQL.
        make: makes its values for rows of these ids.
    """

    name: str
    type: str
    literal: str
    make: Make


@dataclass(frozen=True)
class Variant:
    """How an input differs from the ten columns of shuffled ids.

    Attributes:
        about: what it is.
        columns: further columns.
        is_sorted: whether ids arrive in their order.
        skew: the share of the keys that nine of ten changed rows lie in; 1 where all are equally likely.
    """

    about: str
    columns: tuple[Column, ...] = ()
    is_sorted: bool = False
    skew: float = 1.0


def _integers(random: np.random.Generator, ids: Int64s) -> pa.Array:
    return pa.array(random.integers(0, 1000, len(ids)).astype(np.int32))


def _long_text(random: np.random.Generator, ids: Int64s) -> pa.Array:
    # Slices of one random text: as hard to compress as texts that people write are, and quickly made.
    text = random.integers(97, 123, 1 << 20).astype(np.uint8).tobytes().decode()
    starts = random.integers(0, (1 << 20) - 4096, len(ids)).tolist()
    lengths = random.integers(1024, 4096, len(ids)).tolist()
    return pa.array([text[start : start + length] for start, length in zip(starts, lengths, strict=True)])


def _large_decimals(random: np.random.Generator, ids: Int64s) -> pa.Array:
    return pa.array(random.integers(0, 10**9, len(ids))).cast(pa.decimal128(38, 10))


def _items(random: np.random.Generator, ids: Int64s) -> pa.Array:
    lengths = random.integers(0, 6, len(ids))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    count = int(offsets[-1])
    skus = pa.array(random.integers(0, 10_000, count)).cast(pa.string())
    items = pa.StructArray.from_arrays([skus, pa.array(np.round(random.random(count) * 100, 2))], ["sku", "price"])
    return pa.ListArray.from_arrays(pa.array(offsets), items)


def _labels(random: np.random.Generator, ids: Int64s) -> pa.Array:
    count = len(ids)
    keys = pa.array(["source", "campaign"]).take(pa.array(np.tile([0, 1], count)))
    values = pa.array(random.integers(0, 100, 2 * count)).cast(pa.string())
    return pa.MapArray.from_arrays(pa.array(np.arange(count + 1, dtype=np.int32) * 2), keys, values)


_NESTED = (
    Column(
        "items",
        "ARRAY<STRUCT<sku: STRING, price: DOUBLE>>",
        "array(named_struct('sku', 'a', 'price', 1.5D))",
        _items,
    ),
    Column("labels", "MAP<STRING, STRING>", "map('source', 'b')", _labels),
)
VARIANTS = {
    "plain": Variant("ten columns, shuffled ids"),
    "wide": Variant("a hundred columns", tuple(Column(f"c{n}", "INT", "1", _integers) for n in range(90))),
    "strings": Variant("strings of one to four kilobytes", (Column("body", "STRING", "'text'", _long_text),)),
    "decimals": Variant(
        "decimals of 38 digits", tuple(Column(f"d{n}", "DECIMAL(38,10)", "1.5", _large_decimals) for n in range(8))
    ),
    "nested": Variant("arrays of structs, and maps", _NESTED),
    "sorted": Variant("ids in their order", is_sorted=True),
    "skewed": Variant("nine of ten changes in a tenth of the keys", skew=0.1),
}
