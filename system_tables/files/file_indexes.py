"""``t$file_indexes``: the file indexes of the data files of the snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from paimon_sql.format.metadata.manifest import ManifestEntry, entries
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import BigIntType, BooleanType, IntType, string_type
from paimon_sql.storage.data_files.pruning.file_indexes import held_indexes
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import SystemTable, column
from paimon_sql.system_tables.files.files import files_seen
from paimon_sql.system_tables.formatting import partition_labels

_THREADS = 32


class FileIndexes(SystemTable):
    """Bloom filters, bitmaps and the like of the data files of the snapshot that the read sees."""

    name = "file_indexes"
    summary = "One row per file index of a column in a data file of the snapshot."
    columns = (
        column("partition", string_type(), "partition values, {} without partitions"),
        column("bucket", IntType(False), "bucket number"),
        column("file_path", string_type(False), "the data file"),
        column("file_size_in_bytes", BigIntType(False), "its size"),
        column("record_count", BigIntType(False), "its records"),
        column("schema_id", BigIntType(False), "its schema"),
        column("column_name", string_type(False), "column indexed"),
        column("index_type", string_type(False), "bloom-filter, bitmap, bsi, ..."),
        column("storage_type", string_type(False), "EMBEDDED in the manifest or a FILE of its own"),
        column("index_file_path", string_type(), "that file"),
        column("index_size_in_bytes", BigIntType(False), "size of this index"),
        column("index_container_size_in_bytes", BigIntType(False), "size of what holds all indexes of the data file"),
        column("is_empty", BooleanType(False), "the index has no content"),
    )

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        seen, live = files_seen(table)
        files = list(entries(live))
        found = map_in_threads(
            lambda entry: list(_rows(seen, entry)), files, seen.file_io.threads_for(seen.path, len(files), _THREADS)
        )
        labels = partition_labels(seen.schema, pa.array([e.partition for e in files], pa.binary())).to_pylist()
        schema = arrow_schema(self.columns)
        rows = [(label, *row) for label, of_file in zip(labels, found, strict=True) for row in of_file]
        values = list(zip(*rows, strict=True)) or [()] * len(schema)
        return pa.Table.from_arrays([pa.array(v, f.type) for v, f in zip(values, schema, strict=True)], schema=schema)


def _rows(table: Table, entry: ManifestEntry) -> Iterator[tuple[Any, ...]]:
    """The rows of one data file, without the partition."""
    file = entry.file
    path = table.locations.data_file(entry.partition, entry.bucket, file)
    with held_indexes(table, entry.partition, entry.bucket, file) as held:
        for place in held.places if held is not None else ():
            assert held is not None
            storage_type = "EMBEDDED" if held.path is None else "FILE"
            about = (entry.bucket, path, file.file_size, file.row_count, file.schema_id, place.column, place.kind)
            yield (*about, storage_type, held.path, place.length, held.size, place.is_empty)
