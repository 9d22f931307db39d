"""File indexes that a table's options declare.

``file-index.<kind>.columns`` lists columns, or keys of maps as ``column[key]``. The options
``file-index.<kind>.<column>.<setting>`` are the settings of one of them, or of all keys of a map.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.file_index.base import FileIndexKind
from paimon_sql.format.file_index.registry import KINDS
from paimon_sql.format.options.table.index import FILE_INDEX_COLUMNS, FILE_INDEX_PROPERTY
from paimon_sql.format.options.values import TableOptions, comma_separated
from paimon_sql.format.schema import types as t


@dataclass(frozen=True)
class DeclaredIndex:
    """A declared index: of a column, or of a map's values of one key.

    Attributes:
        kind: the kind of index.
        column: the column.
        map_key: the key of the map; None for the column itself.
        settings: its settings, by the last part of their keys.
    """

    kind: FileIndexKind
    column: str
    map_key: str | None
    settings: TableOptions

    @property
    def name(self) -> str:
        """The name of the column in containers."""
        return indexed_name(self.column, self.map_key)

    def type_in(self, column: t.DataType) -> t.DataType | None:
        """The type of the indexed values of a column; None if a column of this type cannot have such an index."""
        kind = value_type(column, self.map_key)
        return kind if kind is not None and self.kind.supports(kind) else None

    def values_in(self, column: pa.Array) -> pa.Array:
        """The indexed values of a column."""
        if self.map_key is None:
            return column
        return pc.map_lookup(column, pa.scalar(self.map_key), "first")


def indexed_name(column: str, map_key: str | None) -> str:
    """The name of a column, or of a map's key, in containers."""
    return column if map_key is None else f"{column}[{map_key}]"


def split_name(name: str) -> tuple[str, str | None]:
    """Split a name into the column and the map's key, if it has one."""
    head, bracket, key = name.partition("[")
    return (head, key[:-1]) if bracket and key.endswith("]") else (name, None)


def value_type(column: t.DataType, map_key: str | None) -> t.DataType | None:
    """The type of the indexed values; None if ``map_key`` is given and the column is not a map with string keys."""
    if map_key is None:
        return column
    if not isinstance(column, t.MapType) or not isinstance(column.key, (t.CharType, t.VarCharType)):
        return None
    return column.value


def declared_indexes(options: TableOptions) -> Iterator[DeclaredIndex]:
    """Yield the indexes that options declare, without duplicates; unknown kinds are ignored."""
    settings: dict[tuple[str, str], dict[str, str]] = {}
    for (kind, column, setting), value in options.matching(FILE_INDEX_PROPERTY):
        settings.setdefault((kind, column), {})[setting] = value or ""
    seen: set[tuple[str, str]] = set()
    for (kind,), text in options.matching(FILE_INDEX_COLUMNS):
        for name in comma_separated(text):
            if kind not in KINDS or (kind, name) in seen:
                continue
            seen.add((kind, name))
            column, key = split_name(name)
            of_map = settings.get((kind, column), {}) if key is not None else {}
            own = {**of_map, **settings.get((kind, name), {})}
            yield DeclaredIndex(KINDS[kind], column, key, TableOptions(own))
