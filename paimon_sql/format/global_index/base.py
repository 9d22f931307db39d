"""Interfaces of a kind of global index: indexable types, writer of sorted rows, reader.

Rows of an index file are numbers relative to the first row that the index covers.
"""

from __future__ import annotations

import array
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from paimon_sql.format.bytes.bounded import Read
from paimon_sql.format.bytes.memory import Longs
from paimon_sql.format.global_index.keys import IndexKeys, keys_of
from paimon_sql.format.options.values import Option, TableOptions
from paimon_sql.format.schema import types as t

_BATCH_ROWS = 1 << 20


@dataclass(frozen=True)
class SortedRows:
    """The rows of one index file, sorted by key.

    Attributes:
        keys: the keys by `IndexKeys.ordered`, ascending; one per row with a key.
        rows: the row of each key, ascending for equal keys.
        nulls: the rows without a key, ascending.
    """

    keys: pa.Array
    rows: Longs
    nulls: Longs

    def __len__(self) -> int:
        return len(self.rows) + len(self.nulls)

    def starts(self) -> Longs:
        """The index of the first row of each distinct key."""
        if not len(self.keys):
            return np.zeros(0, np.int64)
        same = pc.equal(self.keys.slice(1), self.keys.slice(0, len(self.keys) - 1))
        return np.flatnonzero(np.concatenate([[True], ~same.to_numpy(zero_copy_only=False)]))

    def key_batches(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of the distinct keys, by index, that have about `_BATCH_ROWS` rows."""
        starts = self.starts()
        ends = np.append(starts[1:], len(self.rows))
        first = 0
        while first < len(starts):
            last = max(first + 1, int(np.searchsorted(ends, starts[first] + _BATCH_ROWS, side="right")))
            yield first, last
            first = last


@dataclass(frozen=True)
class KeyedRows:
    """The rows of some distinct keys.

    Attributes:
        keys: the keys.
        rows: the rows of the first key, then those of the second, and so on.
        counts: the number of rows of each key.
    """

    keys: pa.Array
    rows: Longs
    counts: Longs


class GlobalIndexReader(ABC):
    """Finds the rows of keys in an index file.

    Raises:
        ValueError: (every method) the file is broken.
    """

    @abstractmethod
    def among(self, keys: pa.Array) -> BitMap64:
        """The rows whose key is one of ``keys``."""

    @abstractmethod
    def between(
        self, low: pa.Scalar | None, high: pa.Scalar | None, *, with_low: bool = True, with_high: bool = True
    ) -> BitMap64:
        """The rows whose key lies between ``low`` and ``high``, inclusive by default; None is unbounded."""

    @abstractmethod
    def nulls(self) -> BitMap64:
        """The rows that are null."""


class SortedIndexReader(GlobalIndexReader):
    """A reader that also returns rows in the order of their keys."""

    @abstractmethod
    def in_order(self, *, descending: bool) -> Iterator[KeyedRows]:
        """Yield the rows with a key in the order of keys, some distinct keys at a time; reads lazily."""


class GlobalIndexKind(ABC):
    """A kind of global index.

    Attributes:
        name: its name in calls and index manifests.
        max_search_bytes: the option with the max bytes of index files that a search for other than single keys reads.
        is_of_elements: whether keys are elements of arrays, so that a row may have several of them, or none.
    """

    name: ClassVar[str]
    max_search_bytes: ClassVar[Option[int]]
    is_of_elements: ClassVar[bool] = False

    def supports(self, data_type: t.DataType) -> bool:
        """Whether columns of a type can be indexed."""
        return IndexKeys.supports(data_type)

    def keyed(self, data_type: t.DataType, values: pa.Array, rows: Longs) -> tuple[pa.Array, Longs]:
        """The keys of rows, by `IndexKeys.ordered`, and the row of each key.

        Args:
            data_type: the type of the column.
            values: its values.
            rows: the rows, ascending.
        """
        return keys_of(data_type).ordered(values), rows

    @abstractmethod
    def write(self, rows: SortedRows, keys: IndexKeys, options: TableOptions) -> Iterator[bytes]:
        """Yield the bytes of an index file in pieces.

        Args:
            rows: at least one row.
            keys: the conversion of its keys.
            options: the options of the table and the call.
        """

    @abstractmethod
    def reader(self, read: Read, size: int, keys: IndexKeys) -> GlobalIndexReader:
        """Open an index file.

        Args:
            read: reads a range of the file.
            size: its size in bytes.
            keys: the conversion of its keys.

        Raises:
            ValueError: the file is not such an index.
        """


def check_rows(rows: BitMap64, count: int) -> BitMap64:
    """Check that rows of an index file are among the ``count`` rows that it covers, and return them.

    Raises:
        ValueError: a row is not: a bitmap of few bytes can represent more rows than fit into memory.
    """
    if rows and rows.max() >= count:
        raise ValueError(f"it refers to row {rows.max()}, but covers {count}")
    return rows


def bitmap_of(rows: Longs) -> BitMap64:
    """The bitmap of rows."""
    return BitMap64(array.array("Q", rows.astype(np.uint64).tobytes()))


def rows_of(bitmap: BitMap64) -> Longs:
    """The rows of a bitmap, ascending."""
    return np.asarray(bitmap.to_array(), dtype=np.int64)


def footer_of(read: Read, size: int, layout: struct.Struct, magic: int, version: int, what: str) -> tuple[int, ...]:
    """Read the numbers of an index file's footer, without the version and the magic number at its end.

    Args:
        read: reads a range of the file.
        size: its size in bytes.
        layout: the layout of the footer.
        magic: the magic number.
        version: the supported version.
        what: the kind of file, for error messages.

    Raises:
        ValueError: the file is too short, or of another kind or version.
    """
    data = read(size - layout.size, layout.size) if size >= layout.size else b""
    if len(data) < layout.size:
        raise ValueError("the file is too short")
    *numbers, found, mark = layout.unpack(data)
    if mark != magic:
        raise ValueError(f"the file is not a {what}")
    if found != version:
        raise ValueError(f"the file is of version {found}, but only {version} can be read")
    return tuple(numbers)


def between_mask(
    keys: pa.Array, low: pa.Scalar | None, high: pa.Scalar | None, *, with_low: bool, with_high: bool
) -> pa.Array:
    """The mask of the keys that lie between two, as in `GlobalIndexReader.between`."""
    wanted = pa.array(np.ones(len(keys), np.bool_))
    if low is not None:
        wanted = pc.and_(wanted, (pc.greater_equal if with_low else pc.greater)(keys, low))
    if high is not None:
        wanted = pc.and_(wanted, (pc.less_equal if with_high else pc.less)(keys, high))
    return wanted


def position(keys: pa.Array, key: pa.Scalar, *, behind: bool) -> int:
    """The insertion index of a key in ascending keys: before equal ones, or after them if ``behind``."""
    smaller = (pc.less_equal if behind else pc.less)(keys, key)
    return int(pc.sum(smaller).as_py() or 0)
