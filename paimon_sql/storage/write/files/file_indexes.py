"""Construction of the file indexes of a data file while it is written (spec: File Index)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from paimon_sql.format.file_index.base import IndexBuilder
from paimon_sql.format.file_index.container import write_container
from paimon_sql.format.file_index.declared import DeclaredIndex
from paimon_sql.format.schema.types import DataField


class FileIndexes:
    """Builds the indexes of one data file.

    Args:
        declared: the declared indexes; those whose columns are missing in the file or of other types are skipped.
        fields: the file's columns.
    """

    def __init__(self, declared: Iterable[DeclaredIndex], fields: Sequence[DataField]) -> None:
        types = {f.name: f.type for f in fields}
        self._builders: list[tuple[DeclaredIndex, IndexBuilder]] = []
        for index in declared:
            column = types.get(index.column)
            kind = index.type_in(column) if column is not None else None
            if kind is not None:
                self._builders.append((index, index.kind.builder(kind, index.settings)))

    def add(self, rows: pa.RecordBatch) -> None:
        """Add the next rows of the file."""
        for index, builder in self._builders:
            builder.add(index.values_in(rows.column(index.column)))

    def finish(self) -> bytes | None:
        """The container of all indexes; None if there are none."""
        found: dict[str, dict[str, bytes | None]] = {}
        for index, builder in self._builders:
            body = builder.finish()
            if body is not None:
                found.setdefault(index.name, {})[index.kind.name] = body
        return write_container(found) if found else None
