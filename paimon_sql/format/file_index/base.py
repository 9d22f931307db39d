"""What a kind of file index is: which types it takes, how it is built from rows, and how it is asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import pyarrow as pa
from pyroaring import BitMap

from paimon_sql.format.file_index.keys import KeyType, OutOfRangeError
from paimon_sql.format.options.table_options import TableOptions
from paimon_sql.format.options.values import Option
from paimon_sql.format.schema import types as t

Operator = Literal["=", "!=", "<", "<=", ">", ">="]


class IndexBuilder(ABC):
    """Makes the index of one column of one data file."""

    @abstractmethod
    def add(self, values: pa.Array) -> None:
        """Take the values of the next rows."""

    @abstractmethod
    def finish(self) -> bytes | None:
        """The index; None if these rows cannot have one."""


class IndexReader(ABC):
    """Answers which rows of a file a condition may be true for.

    An answer holds at least all such rows, by their positions; None says nothing.
    """

    @abstractmethod
    def among(self, values: pa.Array) -> BitMap | None:
        """The rows whose value is one of some, none of them null."""

    def compare(self, operator: Operator, value: pa.Scalar) -> BitMap | None:
        """The rows whose value compares so with another, which is not null."""
        return self.among(pa.array([value.as_py()], value.type)) if operator == "=" else None

    def nulls(self) -> BitMap | None:
        """The rows without a value."""
        return None

    def valued(self) -> BitMap | None:
        """The rows with a value."""
        return None


class RowsReader(IndexReader):
    """An index that knows the rows of each value."""

    def __init__(self, data_type: t.DataType) -> None:
        self.keys = KeyType(data_type)

    @abstractmethod
    def equal(self, key: Any) -> BitMap:
        """The rows with a key."""

    @abstractmethod
    def valued(self) -> BitMap:
        """The rows with a value."""

    def below(self, key: Any, *, inclusive: bool) -> BitMap | None:
        """The rows with smaller keys, or the key itself; None if the index knows no order."""
        return None

    def above(self, key: Any, *, inclusive: bool) -> BitMap | None:
        """The rows with greater keys, or the key itself; None if the index knows no order."""
        return None

    def among(self, values: pa.Array) -> BitMap:
        keys = self.keys.equals(values)
        return BitMap.union(*map(self.equal, keys)) if keys else BitMap()

    def compare(self, operator: Operator, value: pa.Scalar) -> BitMap | None:
        one = pa.array([value.as_py()], value.type)
        if operator == "=":
            return self.among(one)
        exact = self.keys.is_exact(one)
        if operator == "!=":
            return self.valued() - self.among(one) if exact else self.valued()
        inclusive = not exact or operator in ("<=", ">=")
        try:
            key = self.keys.bound(value, above=operator in ("<=", ">"))
        except OutOfRangeError:
            return None
        if operator in ("<", "<="):
            return self.below(key, inclusive=inclusive)
        return self.above(key, inclusive=inclusive)


class FileIndexKind(ABC):
    """A kind of file index.

    Attributes:
        name: what options and containers call it.
        settings: what may be set for a column, by the last part of the option's key.
    """

    name: ClassVar[str]
    settings: ClassVar[tuple[Option[Any], ...]] = ()

    @abstractmethod
    def takes(self, data_type: t.DataType) -> bool:
        """Whether values of a type can be indexed."""

    def check(self, settings: TableOptions) -> str | None:
        """What is wrong with settings that each can be read; None if nothing is."""
        return None

    @abstractmethod
    def builder(self, data_type: t.DataType, settings: TableOptions) -> IndexBuilder:
        """What makes an index.

        Args:
            data_type: the type of the values.
            settings: the settings of the column.
        """

    @abstractmethod
    def reader(self, data: bytes, data_type: t.DataType) -> IndexReader:
        """What answers from the bytes of an index.

        Raises:
            ValueError: the bytes are no such index.
        """
