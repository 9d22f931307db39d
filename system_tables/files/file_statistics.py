"""Keys and statistics of data files as strings, by Arrow column."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import ROW_ID, SEQUENCE_NUMBER
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.formatting import evolved, java_strings, key_strings, one_chunk, pair_strings

_SEPARATOR = "\x00"
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Group:
    """Files with the same layout of keys and statistics.

    Attributes:
        schema: the schema that they were written with.
        counted: the columns with statistics; None for all written ones.
        written: the written columns; None for all of the schema.
        files: the files.
        rows: their indexes among all files.
    """

    schema: TableSchema
    counted: tuple[str, ...] | None
    written: tuple[str, ...] | None
    files: pa.Table
    rows: Rows

    def written_names(self) -> Sequence[str]:
        """The written columns."""
        return self.schema.names if self.written is None else self.written

    def counted_fields(self) -> list[DataField] | None:
        """The columns with statistics; None if one is unknown, so that the statistics cannot be decoded."""
        by_name = {f.name: f for f in (*self.schema.fields, ROW_ID, SEQUENCE_NUMBER)}
        names = self.written_names() if self.counted is None else self.counted
        return [by_name[name] for name in names] if all(name in by_name for name in names) else None

    def written_ids(self) -> set[int]:
        """The field ids of the written columns."""
        by_name = {f.name: f.id for f in (*self.schema.fields, ROW_ID, SEQUENCE_NUMBER)}
        return {by_name[name] for name in self.written_names() if name in by_name}


class FileStatistics:
    """Keys and statistics of files as strings, one element per file, computed on demand; thread-safe.

    Columns have their current names: renamed ones keep their statistics, those of changed types are cast, and a column
    that a file was written without has only nulls in it.

    Args:
        table: the table, with the schema to show.
        entries: the files, in one chunk.
    """

    def __init__(self, table: Table, entries: pa.Table) -> None:
        self._table = table
        self._entries = entries
        self._groups: list[_Group] | None = None
        self._lock = threading.Lock()

    def keys(self, end: str) -> pa.Array:
        """The ``min`` or ``max`` keys; null for a file without keys."""

        def strings(group: _Group) -> pa.Array:
            if not group.schema.primary_keys:
                return pa.nulls(len(group.rows), pa.string())
            return key_strings(group.schema.key_fields, group.files[f"{end}_key"])

        return self._each(strings)

    def bounds(self, end: str) -> pa.Array:
        """The ``min`` or ``max`` values as ``{a=1, b=null}``."""

        def strings(group: _Group) -> pa.Array:
            known = {}
            if fields := group.counted_fields():
                rows = group.files[f"value_stats_{end}"]
                columns = decode_columns([f.type for f in fields], rows, overflow_to_null=True)
                known = {f.id: (f, column) for f, column in zip(fields, columns, strict=True)}
            unknown, written = pa.nulls(len(group.rows), pa.string()), group.written_ids()
            return pair_strings(
                self._table.schema.names,
                [
                    _bound_strings(*known[f.id], f) if f.id in written and f.id in known else unknown
                    for f in self._table.schema.fields
                ],
                len(group.rows),
            )

        return self._each(strings)

    def null_counts(self) -> pa.Array:
        """The null counts as ``{a=1, b=0}``."""

        def strings(group: _Group) -> pa.Array:
            counts, fields = one_chunk(group.files["value_stats_null_counts"]), group.counted_fields() or []
            known = {f.id: i for i, f in enumerate(fields)}
            unknown, written = pa.nulls(len(group.rows), pa.string()), group.written_ids()
            columns = []
            for f in self._table.schema.fields:
                if f.id not in written:
                    columns.append(one_chunk(group.files["row_count"]).cast(pa.string()))
                else:
                    columns.append(_element(counts, known[f.id]).cast(pa.string()) if f.id in known else unknown)
            return pair_strings(self._table.schema.names, columns, len(group.rows))

        return self._each(strings)

    def _each(self, strings: Callable[[_Group], pa.Array]) -> pa.Array:
        """The strings of all groups, in the order of the files."""
        with self._lock:
            groups = self._groups = self._groups or _groups(self._table, self._entries)
        parts = [one_chunk(strings(group)) for group in groups]
        if len(parts) < 2:
            return parts[0] if parts else pa.nulls(0, pa.string())
        order = np.argsort(np.concatenate([group.rows for group in groups]), kind="stable")
        return pa.concat_arrays(parts).take(pa.array(order))


def _groups(table: Table, entries: pa.Table) -> list[_Group]:
    keys = {"schema": one_chunk(entries["schema_id"])}
    keys |= {name: _joined(one_chunk(entries[name])) for name in ("value_stats_cols", "write_cols")}
    numbered = pa.table({**keys, "row": pa.array(np.arange(len(entries)))})
    kinds = numbered.group_by(list(keys)).aggregate([("row", "list")])
    found = []
    for kind in range(len(kinds)):
        schema_id, counted, written = (kinds[name][kind].as_py() for name in keys)
        rows: Rows = kinds["row_list"][kind].values.to_numpy()
        files = entries if len(kinds) == 1 else entries.take(pa.array(rows))
        found.append(_Group(table.schemas.get(schema_id), _split(counted), _split(written), files, rows))
    return found


def _bound_strings(written: DataField, bounds: pa.Array, shown: DataField) -> pa.Array:
    if bounds.null_count == len(bounds):
        return pa.nulls(len(bounds), pa.string())
    return java_strings(evolved(bounds, written.type, shown.type), shown.type)


def _element(lists: pa.Array, index: int) -> pa.Array:
    """One element of each list; null where the list is null or too short."""
    exists = pc.fill_null(pc.greater(pc.list_value_length(lists), index), False).to_numpy(zero_copy_only=False)
    positions = np.where(exists, lists.offsets.to_numpy()[:-1] + index, 0)
    return lists.values.take(pa.array(positions, mask=~exists))


def _joined(lists: pa.Array) -> pa.Array:
    # A separator after each name, since a list of no names differs from a list of one empty name.
    ended = pc.binary_join(lists, _SEPARATOR)
    filled = pc.greater(pc.list_value_length(lists), 0)
    return pc.if_else(filled, pc.binary_join_element_wise(ended, "", _SEPARATOR), ended)


def _split(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(text.split(_SEPARATOR)[:-1])
