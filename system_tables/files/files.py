"""``t$files``: one row per data file of the snapshot."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.cache import Cache
from paimon_sql.format.layout.paths import POSTPONE_BUCKET, format_of
from paimon_sql.format.metadata.data_file import FileSource
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.records import Int, Long, Record, Strings, Timestamp, column
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import ROW_ID, SEQUENCE_NUMBER
from paimon_sql.format.schema.types import DataField
from paimon_sql.process import share
from paimon_sql.storage.data_files.live_files import count_of_files, live_files, manifests_of
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.data_file_paths import data_file_paths
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import version_to_read
from paimon_sql.system_tables.base import SystemTable
from paimon_sql.system_tables.formatting import (
    evolved,
    java_strings,
    key_strings,
    one_chunk,
    pair_strings,
    partition_labels,
    wall_clocks,
)

_SEPARATOR = "\x00"
Rows = npt.NDArray[np.int64]
_THREADS = 4
_MANY = 10_000
"""The min number of files for several threads and the cache."""
_MAX_CACHED_BYTES = 64 << 20
_columns_seen = share(lambda: Cache[Hashable, pa.Array](_MAX_CACHED_BYTES, weigh=lambda column: int(column.nbytes)))
"""Columns by the state of their table."""
_STORED = {"record_count": "row_count", "file_size_in_bytes": "file_size", "deleteRowCount": "delete_row_count"}
"""The columns that are stored under other names."""


class DataFile(Record):
    """The columns about a data file that every list of them has."""

    partition: str | None = column("partition values, {} without partitions")
    bucket: Int = column("bucket number")
    file_path: str = column("full path")
    file_format: str = column("parquet, orc, avro, ...")
    schema_id: Long = column("schema the file was written with")
    level: Int = column("LSM level; 0 for new files and for append tables")
    record_count: Long = column("records in the file, deletes included")
    file_size_in_bytes: Long = column("size")
    min_key: str | None = column("min key; null for append tables")
    max_key: str | None = column("max key; null for append tables")


class Files(SystemTable):
    """The live data files of the snapshot that is read; statistics are shown with its schema."""

    summary = "One row per data file of the snapshot."

    class Row(DataFile):
        null_value_counts: str = column("nulls per column")
        min_value_stats: str = column("min value per column")
        max_value_stats: str = column("max value per column")
        min_sequence_number: Long | None = column("min sequence number in the file")
        max_sequence_number: Long | None = column("max sequence number in the file")
        creation_time: Timestamp | None = column("when the file was created")
        deleteRowCount: Long | None = column("delete records in the file")  # noqa: N815
        file_source: str | None = column("APPEND or COMPACT")
        first_row_id: Long | None = column("row id of the first row, with row tracking")
        write_cols: Strings | None = column("columns written, when not all of them")

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        return self.selected(table, [f.name for f in self.columns], predicate)

    def estimated_rows(self, table: Table) -> int:
        return estimated_files(table)

    def selected(self, table: Table, names: Sequence[str], predicate: Predicate | None = None) -> pa.Table:
        seen, entries, state = _seen(table)
        if predicate is not None:
            predicate_columns = self._computed(seen, entries, predicate.columns(), state)
            holds = predicate.evaluate(
                {name: one_chunk(predicate_columns[name]) for name in predicate_columns.column_names}
            )
            entries, state = entries.filter(pc.fill_null(holds, False)).combine_chunks(), None
        # Without columns the rows must still be counted: compute a cheap column, and `select` keeps the row count.
        return self._computed(seen, entries, names or ["bucket"], state).select(list(names))

    def _computed(self, table: Table, entries: pa.Table, names: Collection[str], state: Hashable) -> pa.Table:
        computed = _columns(table, entries)
        schema = arrow_schema([f for f in self.columns if f.name in names])
        are_many, cache = len(entries) >= _MANY, _columns_seen()

        def values(field: pa.Field) -> pa.Array:
            compute = computed.get(field.name)
            column = compute() if compute else entries[_STORED.get(field.name, field.name)]
            return one_chunk(column).cast(field.type)

        def known(field: pa.Field) -> pa.Array:
            remembers = are_many and state is not None
            return cache.compute((state, field.name), lambda: values(field)) if remembers else values(field)

        # Arrow releases the GIL.
        return pa.Table.from_arrays(map_in_threads(known, list(schema), _THREADS if are_many else 1), schema=schema)


def _columns(table: Table, entries: pa.Table) -> dict[str, Callable[[], pa.Array | pa.ChunkedArray]]:
    """Functions that compute the columns that are not stored."""
    statistics = FileStatistics(table, entries)
    return {
        "partition": lambda: partition_labels(table.schema, entries["partition"]),
        "file_path": lambda: data_file_paths(table, entries),
        "file_format": lambda: formats(entries["file_name"]),
        "min_key": lambda: statistics.keys("min"),
        "max_key": lambda: statistics.keys("max"),
        "null_value_counts": statistics.null_counts,
        "min_value_stats": lambda: statistics.bounds("min"),
        "max_value_stats": lambda: statistics.bounds("max"),
        "creation_time": lambda: wall_clocks(entries["creation_time_millis"]),
        "file_source": lambda: _sources(entries["file_source"]),
    }


def files_seen(table: Table) -> tuple[Table, pa.Table]:
    """The table as of the version to read, and the entries of its data files."""
    seen, entries, _ = _seen(table)
    return seen, entries


def estimated_files(table: Table) -> int:
    """The approximate number of data files of the version to read, by the lists of its manifests."""
    snapshot = version_to_read(table).snapshot
    return 0 if snapshot is None else count_of_files(manifests_of(table, snapshot))


def _seen(table: Table) -> tuple[Table, pa.Table, Hashable]:
    """The result of `files_seen`, and a key of this state of the table; None before the first commit."""
    version = version_to_read(table)
    seen, snapshot = version.of(table), version.snapshot
    entries = without_postponed(seen, live_files(seen, snapshot).entries).combine_chunks()
    if snapshot is None:
        return seen, entries, None
    # Names of manifest lists are unique, also after drops and rollbacks.
    lists = (snapshot.base_manifest_list, snapshot.delta_manifest_list)
    return seen, entries, (seen.path, seen.branch, *lists, seen.schema.id, frozenset(seen.schema.options.items()))


def without_postponed(table: Table, entries: pa.Table) -> pa.Table:
    """The files that reads see; without those of postponed buckets."""
    if not table.schema.has_key or table.options.get(BUCKET) != POSTPONE_BUCKET:
        return entries
    return entries.filter(pc.greater_equal(entries["bucket"], 0))


def formats(names: pa.ChunkedArray) -> pa.Array:
    """The file formats of data files, by extension."""
    endings = pc.extract_regex(one_chunk(names), r"(?P<ending>\.[^./]+(?:\.[^./]+)?)$")
    encoded = pc.struct_field(endings, "ending").dictionary_encode()
    return pa.array([format_of(f"x{e}") for e in encoded.dictionary.to_pylist()], pa.string()).take(encoded.indices)


def _sources(codes: pa.ChunkedArray) -> pa.Array:
    compact = pc.equal(one_chunk(codes), int(FileSource.COMPACT))
    return pc.if_else(compact, FileSource.COMPACT.name, FileSource.APPEND.name)


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
            if not group.schema.has_key:
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
