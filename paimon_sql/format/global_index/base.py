"""What a kind of global index is: which types it takes, how a file of it is made of sorted rows, how it is asked."""

from __future__ import annotations

import array
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from paimon_sql.format.global_index.keys import IndexKeys, keys_of
from paimon_sql.format.options.table_options import TableOptions
from paimon_sql.format.options.values import Option
from paimon_sql.format.schema import types as t

_ROWS_AT_ONCE = 1 << 20

Longs = npt.NDArray[np.int64]
Read = Callable[[int, int], bytes]
"""Reads a stretch of a file: where it begins, and its length."""


@dataclass(frozen=True)
class SortedRows:
    """The rows of one index file, told by their distance from the first row that the index covers.

    Attributes:
        keys: the keys in ascending order, as `IndexKeys.ordered` gives them, one for each row that has one.
        rows: the row of each key; those of one key ascend.
        nulls: the rows without a key, ascending.
    """

    keys: pa.Array
    rows: Longs
    nulls: Longs

    def __len__(self) -> int:
        return len(self.rows) + len(self.nulls)

    def starts(self) -> Longs:
        """Where the rows of each distinct key begin."""
        if not len(self.keys):
            return np.zeros(0, np.int64)
        same = pc.equal(self.keys.slice(1), self.keys.slice(0, len(self.keys) - 1))
        return np.flatnonzero(np.concatenate([[True], ~same.to_numpy(zero_copy_only=False)]))

    def portions(self) -> Iterator[tuple[int, int]]:
        """The distinct keys, by their numbers, in stretches with about as many rows as are worth one step."""
        starts = self.starts()
        ends = np.append(starts[1:], len(self.rows))
        first = 0
        while first < len(starts):
            last = max(first + 1, int(np.searchsorted(ends, starts[first] + _ROWS_AT_ONCE, side="right")))
            yield first, last
            first = last


@dataclass(frozen=True)
class KeyedRows:
    """The rows of some distinct keys.

    Attributes:
        keys: the keys in their order.
        rows: the rows of the first key, then those of the second, and so on.
        counts: how many rows each key has.
    """

    keys: pa.Array
    rows: Longs
    counts: Longs


class GlobalIndexReader(ABC):
    """Answers which rows hold some keys; they are told by their distance from the first row that the index covers.

    Raises:
        ValueError: (every method) the file is broken.
    """

    @abstractmethod
    def among(self, keys: pa.Array) -> BitMap64:
        """The rows whose key is one of some."""

    @abstractmethod
    def between(
        self, low: pa.Scalar | None, high: pa.Scalar | None, *, with_low: bool = True, with_high: bool = True
    ) -> BitMap64:
        """The rows whose key lies between two, None being no end; the ends count by default."""

    @abstractmethod
    def nulls(self) -> BitMap64:
        """The rows without a value."""


class SortedIndexReader(GlobalIndexReader):
    """Tells rows in the order of their keys, too."""

    @abstractmethod
    def in_order(self, *, descending: bool) -> Iterator[KeyedRows]:
        """The rows that have a key, in the order of keys, some distinct ones at a time; read as far as taken."""


class GlobalIndexKind(ABC):
    """A kind of global index.

    Attributes:
        name: what calls and index manifests name it.
        most_to_search: the option that says how many bytes of index files a search for more than single keys reads.
        is_of_elements: whether keys are elements of arrays, so that a row may have several of them, or none.
    """

    name: ClassVar[str]
    most_to_search: ClassVar[Option[int]]
    is_of_elements: ClassVar[bool] = False

    def takes(self, data_type: t.DataType) -> bool:
        """Whether columns of a type can be indexed."""
        return IndexKeys.takes(data_type)

    def keyed(self, data_type: t.DataType, values: pa.Array, rows: Longs) -> tuple[pa.Array, Longs]:
        """The keys of rows, as `IndexKeys.ordered` gives them, and the row of each.

        Args:
            data_type: the type of the column.
            values: its values.
            rows: the rows, which ascend.
        """
        return keys_of(data_type).ordered(values), rows

    @abstractmethod
    def write(self, rows: SortedRows, keys: IndexKeys, options: TableOptions) -> Iterator[bytes]:
        """The bytes of an index file, piece by piece.

        Args:
            rows: at least one row.
            keys: how its keys are kept.
            options: the options of the table and the call.
        """

    @abstractmethod
    def reader(self, read: Read, size: int, keys: IndexKeys) -> GlobalIndexReader:
        """What answers from an index file.

        Args:
            read: reads a stretch of it.
            size: its size in bytes.
            keys: how its keys are kept.

        Raises:
            ValueError: the file is no such index.
        """


def check_rows(rows: BitMap64, count: int) -> BitMap64:
    """Rows of an index file, if they are among the ``count`` rows that it covers.

    Raises:
        ValueError: one is not: a bitmap of few bytes can hold more rows than memory does.
    """
    if rows and rows.max() >= count:
        raise ValueError(f"it tells of row {rows.max()}, and covers {count}")
    return rows


def bitmap_of(rows: Longs) -> BitMap64:
    """The bitmap of some rows."""
    return BitMap64(array.array("Q", rows.astype(np.uint64).tobytes()))


def rows_of(bitmap: BitMap64) -> Longs:
    """The rows of a bitmap, ascending."""
    return np.asarray(bitmap.to_array(), dtype=np.int64)


def footer_of(read: Read, size: int, layout: struct.Struct, magic: int, version: int, what: str) -> tuple[int, ...]:
    """The numbers of an index file's footer, the version and the magic number that end it left out.

    Args:
        read: reads a stretch of the file.
        size: its size in bytes.
        layout: how the footer is laid out.
        magic: the number that such files end with.
        version: the version that can be read.
        what: what such a file is called.

    Raises:
        ValueError: the file is too short, of another kind or of another version.
    """
    data = read(size - layout.size, layout.size) if size >= layout.size else b""
    if len(data) < layout.size:
        raise ValueError("the file is too short")
    *numbers, found, mark = layout.unpack(data)
    if mark != magic:
        raise ValueError(f"the file is no {what}")
    if found != version:
        raise ValueError(f"the file is of version {found}, and only {version} can be read")
    return tuple(numbers)


def lying_between(
    keys: pa.Array, low: pa.Scalar | None, high: pa.Scalar | None, *, with_low: bool, with_high: bool
) -> pa.Array:
    """Of keys whether each lies between two; as in `GlobalIndexReader.between`."""
    wanted = pa.array(np.ones(len(keys), np.bool_))
    if low is not None:
        wanted = pc.and_(wanted, (pc.greater_equal if with_low else pc.greater)(keys, low))
    if high is not None:
        wanted = pc.and_(wanted, (pc.less_equal if with_high else pc.less)(keys, high))
    return wanted


def position(keys: pa.Array, key: pa.Scalar, *, behind: bool) -> int:
    """Where a key belongs in ascending ones: before those that equal it, or behind them."""
    smaller = (pc.less_equal if behind else pc.less)(keys, key)
    return int(pc.sum(smaller).as_py() or 0)
