"""The file indexes that a table's options ask for.

``file-index.<kind>.columns`` lists columns, or keys of maps as ``column[key]``. Settings of one of them, or of all keys
of a map at once, are ``file-index.<kind>.<column>.<setting>``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.file_index.base import FileIndexKind
from paimon_sql.format.file_index.registry import KINDS
from paimon_sql.format.options.table.index import FILE_INDEX_COLUMNS, FILE_INDEX_PROPERTY
from paimon_sql.format.options.table_options import TableOptions
from paimon_sql.format.options.values import comma_separated
from paimon_sql.format.schema import types as t


@dataclass(frozen=True)
class DeclaredIndex:
    """An index that is asked for: of a column, or of what a map holds under a key.

    Attributes:
        kind: what kind of index.
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
        """What containers call the column."""
        return indexed_name(self.column, self.map_key)

    def type_in(self, column: t.DataType) -> t.DataType | None:
        """The type of the indexed values, given the column's; None if the column cannot have such an index."""
        kind = value_type(column, self.map_key)
        return kind if kind is not None and self.kind.takes(kind) else None

    def values_in(self, column: pa.Array) -> pa.Array:
        """The indexed values of a column's."""
        if self.map_key is None:
            return column
        return pc.map_lookup(column, pa.scalar(self.map_key), "first")


def indexed_name(column: str, map_key: str | None) -> str:
    """What containers call a column, or a key of a map."""
    return column if map_key is None else f"{column}[{map_key}]"


def split_name(name: str) -> tuple[str, str | None]:
    """A column and, if it says one, the key of the map that it is."""
    head, bracket, key = name.partition("[")
    return (head, key[:-1]) if bracket and key.endswith("]") else (name, None)


def value_type(column: t.DataType, map_key: str | None) -> t.DataType | None:
    """The type of what an index is of, given the column's; None if a key is named of what is no map with text keys."""
    if map_key is None:
        return column
    if not isinstance(column, t.MapType) or not isinstance(column.key, (t.CharType, t.VarCharType)):
        return None
    return column.value


def declared_indexes(options: TableOptions) -> Iterator[DeclaredIndex]:
    """The indexes that options ask for, each once; kinds that do not exist are passed over."""
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
