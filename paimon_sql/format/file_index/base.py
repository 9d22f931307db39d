"""Interfaces of a kind of file index: indexable types, builder, reader; a builder that collects all values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import pyarrow as pa
from pyroaring import BitMap

from paimon_sql.format.bytes.row_bitmaps import all_rows
from paimon_sql.format.file_index.keys import Key, KeyType, OutOfRangeError, RankedColumn
from paimon_sql.format.options.values import Option, TableOptions
from paimon_sql.format.schema import types as t

Operator = Literal["=", "!=", "<", "<=", ">", ">="]


class IndexBuilder(ABC):
    """Builds the index of one column of one data file."""

    @abstractmethod
    def add(self, values: pa.Array) -> None:
        """Add the values of the next rows."""

    @abstractmethod
    def finish(self) -> bytes | None:
        """The bytes of the index; None if these rows cannot be indexed."""


class IndexReader(ABC):
    """Selects the rows of a file for which a condition may be true.

    A result contains at least all such rows, by their positions; None means unknown: any row may match.
    """

    @property
    def distinct(self) -> float | None:
        """About how many distinct values there are; None if unknown."""
        return None

    @abstractmethod
    def equal_any(self, values: pa.Array) -> BitMap | None:
        """The rows whose value is one of ``values``, none of which is null."""

    def compare(self, operator: Operator, value: pa.Scalar) -> BitMap | None:
        """The rows whose value compares so with ``value``, which is not null."""
        return self.equal_any(pa.repeat(value, 1)) if operator == "=" else None

    def nulls(self) -> BitMap | None:
        """The rows that are null."""
        return None

    def not_nulls(self) -> BitMap | None:
        """The rows with a value."""
        return None


class RowsReader(IndexReader):
    """A reader of an index that stores the rows of each value."""

    _rows: int

    def __init__(self, data_type: t.DataType) -> None:
        self.keys = KeyType(data_type)

    @abstractmethod
    def equal(self, key: Key) -> BitMap:
        """The rows whose value has this key."""

    @abstractmethod
    def not_nulls(self) -> BitMap:
        """The rows with a value."""

    def split(self, key: Key) -> tuple[BitMap, BitMap, BitMap] | None:
        """The rows with smaller, equal and greater keys; None if the index has no order."""
        return None

    def nulls(self) -> BitMap:
        return all_rows(self._rows) - self.not_nulls()

    def equal_any(self, values: pa.Array) -> BitMap:
        keys = self.keys.equals(values)
        return BitMap.union(*map(self.equal, keys)) if keys else BitMap()

    def compare(self, operator: Operator, value: pa.Scalar) -> BitMap | None:
        one = pa.repeat(value, 1)
        if operator == "=":
            return self.equal_any(one)
        exact = self.keys.is_exact(one)
        if operator == "!=":
            return self.not_nulls() - self.equal_any(one) if exact else self.not_nulls()
        inclusive = not exact or operator in ("<=", ">=")
        try:
            key = self.keys.bound(value, above=operator in ("<=", ">"))
        except OutOfRangeError:
            return None
        if (parts := self.split(key)) is None:
            return None
        less, equal, greater = parts
        side = less if operator in ("<", "<=") else greater
        return side | equal if inclusive else side


class FileIndexKind(ABC):
    """A kind of file index.

    Attributes:
        name: its name in options and containers.
        settings: its settings per column, by the last part of the option's key.
        types: the types whose values can be indexed.
    """

    name: ClassVar[str]
    settings: ClassVar[tuple[Option[object], ...]] = ()
    types: ClassVar[tuple[type[t.DataType], ...]]

    def supports(self, data_type: t.DataType) -> bool:
        """Whether values of a type can be indexed."""
        return isinstance(data_type, self.types)

    def check(self, settings: TableOptions) -> str | None:
        """The defect of settings whose values are valid one by one; None if there is none."""
        return None

    @abstractmethod
    def builder(self, data_type: t.DataType, settings: TableOptions) -> IndexBuilder:
        """A builder of an index.

        Args:
            data_type: the type of the values.
            settings: the settings of the column.
        """

    @abstractmethod
    def reader(self, data: bytes, data_type: t.DataType) -> IndexReader:
        """A reader of an index's bytes.

        Raises:
            ValueError: the bytes are not such an index.
        """


class ColumnBuilder(IndexBuilder):
    """Collects a column's keys; strings are dictionary-encoded, as most repeat."""

    def __init__(self, data_type: t.DataType, settings: TableOptions) -> None:
        self.keys = KeyType(data_type)
        self._parts: list[pa.Array] | None = []

    def add(self, values: pa.Array) -> None:
        if self._parts is None:
            return
        try:
            keys = self.keys.of(values)
        except OutOfRangeError:
            self._parts = None
            return
        self._parts.append(keys.dictionary_encode() if self.keys.is_bytes else keys)

    def finish(self) -> bytes | None:
        return None if self._parts is None else self.build(self.column())

    def column(self) -> RankedColumn:
        """The collected keys, ranked."""
        parts = self._parts or []
        if self.keys.is_bytes and parts:
            parts = pa.chunked_array(parts).unify_dictionaries().chunks
        return RankedColumn.of(parts)

    @abstractmethod
    def build(self, column: RankedColumn) -> bytes | None:
        """Encode the index of a column; None if it cannot be indexed."""
