"""``t$files``: one row per data file of the snapshot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.cache import Cache
from paimon_sql.format.layout.paths import POSTPONE_BUCKET, format_of
from paimon_sql.format.metadata.data_file import FileSource
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.records import Int, Long, Record, Strings, Timestamp, column
from paimon_sql.process import share
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.data_file_paths import data_file_paths
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import version_to_read
from paimon_sql.system_tables.base import SystemTable
from paimon_sql.system_tables.files.file_statistics import FileStatistics
from paimon_sql.system_tables.formatting import one_chunk, partition_labels, wall_clocks

_THREADS = 4
_MANY = 10_000
"""The min number of files for several threads and the cache."""
_MAX_CACHED_BYTES = 64 << 20
_columns_seen = share(lambda: Cache[Hashable, pa.Array](_MAX_CACHED_BYTES, weigh=lambda column: int(column.nbytes)))
"""Columns by the state of their table."""


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
        columns = _columns(table, entries)
        schema = arrow_schema([f for f in self.columns if f.name in names])
        are_many, cache = len(entries) >= _MANY, _columns_seen()

        def values(field: pa.Field) -> pa.Array:
            return one_chunk(columns[field.name]()).cast(field.type)

        def known(field: pa.Field) -> pa.Array:
            remembers = are_many and state is not None
            return cache.compute((state, field.name), lambda: values(field)) if remembers else values(field)

        # Arrow releases the GIL.
        return pa.Table.from_arrays(map_in_threads(known, list(schema), _THREADS if are_many else 1), schema=schema)


def _columns(table: Table, entries: pa.Table) -> dict[str, Callable[[], pa.Array | pa.ChunkedArray]]:
    """Functions that compute the columns."""
    statistics = FileStatistics(table, entries)
    return {
        "partition": lambda: partition_labels(table.schema, entries["partition"]),
        "bucket": lambda: entries["bucket"],
        "file_path": lambda: data_file_paths(table, entries),
        "file_format": lambda: formats(entries["file_name"]),
        "schema_id": lambda: entries["schema_id"],
        "level": lambda: entries["level"],
        "record_count": lambda: entries["row_count"],
        "file_size_in_bytes": lambda: entries["file_size"],
        "min_key": lambda: statistics.keys("min"),
        "max_key": lambda: statistics.keys("max"),
        "null_value_counts": statistics.null_counts,
        "min_value_stats": lambda: statistics.bounds("min"),
        "max_value_stats": lambda: statistics.bounds("max"),
        "min_sequence_number": lambda: entries["min_sequence_number"],
        "max_sequence_number": lambda: entries["max_sequence_number"],
        "creation_time": lambda: wall_clocks(entries["creation_time_millis"]),
        "deleteRowCount": lambda: entries["delete_row_count"],
        "file_source": lambda: _sources(entries["file_source"]),
        "first_row_id": lambda: entries["first_row_id"],
        "write_cols": lambda: entries["write_cols"],
    }


def files_seen(table: Table) -> tuple[Table, pa.Table]:
    """The table as of the version to read, and the entries of its data files."""
    seen, entries, _ = _seen(table)
    return seen, entries


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
