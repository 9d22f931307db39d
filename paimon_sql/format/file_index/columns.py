"""Builder of indexes that need all values of a column: keys are buffered until the file is complete."""

from __future__ import annotations

from abc import abstractmethod

import pyarrow as pa

from paimon_sql.format.file_index.base import IndexBuilder
from paimon_sql.format.file_index.keys import KeyType, OutOfRangeError, RankedColumn
from paimon_sql.format.schema import types as t


class ColumnBuilder(IndexBuilder):
    """Collects a column's keys; strings are dictionary-encoded, as most repeat."""

    def __init__(self, data_type: t.DataType) -> None:
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
