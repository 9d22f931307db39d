"""Keys and statistics of data files as texts, whole columns at a time."""

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
from paimon_sql.system_tables.formatting import evolved, key_texts, one_chunk, pair_texts, printed

_SEPARATOR = "\x00"
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Group:
    """Files that keep keys and statistics in one way.

    Attributes:
        schema: what they were written with.
        counted: the columns that statistics are kept of; None for all that were written.
        held: the columns that were written; None for all of the schema.
        files: the files.
        rows: where they stand among all.
    """

    schema: TableSchema
    counted: tuple[str, ...] | None
    held: tuple[str, ...] | None
    files: pa.Table
    rows: Rows

    def names_held(self) -> Sequence[str]:
        """The columns that the files hold."""
        return self.schema.names if self.held is None else self.held

    def fields_counted(self) -> list[DataField] | None:
        """The columns that statistics are kept of; None if one of them is unknown, so that none can be read."""
        by_name = {f.name: f for f in (*self.schema.fields, ROW_ID, SEQUENCE_NUMBER)}
        names = self.names_held() if self.counted is None else self.counted
        return [by_name[name] for name in names] if all(name in by_name for name in names) else None

    def ids_held(self) -> set[int]:
        """The ids of the columns that the files hold."""
        by_name = {f.name: f.id for f in (*self.schema.fields, ROW_ID, SEQUENCE_NUMBER)}
        return {by_name[name] for name in self.names_held() if name in by_name}


class FileStatistics:
    """The texts of files' keys and statistics, an element a file, each worked out when it is asked for, by any thread.

    Columns go by their names of today: renamed ones keep their statistics, retyped ones have them cast, and in a file
    that was written without a column all its values are null.

    Args:
        table: the table under the schema that shows them.
        entries: the files, in one piece.
    """

    def __init__(self, table: Table, entries: pa.Table) -> None:
        self._table = table
        self._entries = entries
        self._groups: list[_Group] | None = None
        self._lock = threading.Lock()

    def keys(self, end: str) -> pa.Array:
        """The smallest (``min``) or largest (``max``) keys; null where a file has none."""

        def texts(group: _Group) -> pa.Array:
            if not group.schema.primary_keys:
                return pa.nulls(len(group.rows), pa.string())
            return key_texts(group.schema.key_fields, group.files[f"{end}_key"])

        return self._each(texts)

    def bounds(self, end: str) -> pa.Array:
        """The smallest (``min``) or largest (``max``) values as ``{a=1, b=null}``."""

        def texts(group: _Group) -> pa.Array:
            known = {}
            if fields := group.fields_counted():
                rows = group.files[f"value_stats_{end}"]
                columns = decode_columns([f.type for f in fields], rows, overflow_to_null=True)
                known = {f.id: (f, column) for f, column in zip(fields, columns, strict=True)}
            unknown, held = pa.nulls(len(group.rows), pa.string()), group.ids_held()
            return pair_texts(
                self._table.schema.names,
                [
                    _bound_texts(*known[f.id], f) if f.id in held and f.id in known else unknown
                    for f in self._table.schema.fields
                ],
                len(group.rows),
            )

        return self._each(texts)

    def null_counts(self) -> pa.Array:
        """The counts of nulls as ``{a=1, b=0}``."""

        def texts(group: _Group) -> pa.Array:
            counts, fields = one_chunk(group.files["value_stats_null_counts"]), group.fields_counted() or []
            known = {f.id: i for i, f in enumerate(fields)}
            unknown, held = pa.nulls(len(group.rows), pa.string()), group.ids_held()
            columns = []
            for f in self._table.schema.fields:
                if f.id not in held:
                    columns.append(one_chunk(group.files["row_count"]).cast(pa.string()))
                else:
                    columns.append(_element(counts, known[f.id]).cast(pa.string()) if f.id in known else unknown)
            return pair_texts(self._table.schema.names, columns, len(group.rows))

        return self._each(texts)

    def _each(self, texts: Callable[[_Group], pa.Array]) -> pa.Array:
        """The texts of all groups, in the order of the files."""
        with self._lock:
            groups = self._groups = self._groups or _groups(self._table, self._entries)
        parts = [one_chunk(texts(group)) for group in groups]
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
        schema_id, counted, held = (kinds[name][kind].as_py() for name in keys)
        rows: Rows = kinds["row_list"][kind].values.to_numpy()
        files = entries if len(kinds) == 1 else entries.take(pa.array(rows))
        found.append(_Group(table.schemas.get(schema_id), _split(counted), _split(held), files, rows))
    return found


def _bound_texts(written: DataField, bounds: pa.Array, shown: DataField) -> pa.Array:
    if bounds.null_count == len(bounds):
        return pa.nulls(len(bounds), pa.string())
    return printed(evolved(bounds, written.type, shown.type), shown.type)


def _element(lists: pa.Array, index: int) -> pa.Array:
    """One element of each list; null where the list is null or too short."""
    there = pc.fill_null(pc.greater(pc.list_value_length(lists), index), False).to_numpy(zero_copy_only=False)
    places = np.where(there, lists.offsets.to_numpy()[:-1] + index, 0)
    return lists.values.take(pa.array(places, mask=~there))


def _joined(lists: pa.Array) -> pa.Array:
    # An end after each name tells a list of no names from a list of one empty name.
    ended = pc.binary_join(lists, _SEPARATOR)
    filled = pc.greater(pc.list_value_length(lists), 0)
    return pc.if_else(filled, pc.binary_join_element_wise(ended, "", _SEPARATOR), ended)


def _split(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(text.split(_SEPARATOR)[:-1])
