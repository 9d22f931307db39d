"""``t$file_indexes``: the file indexes of the data files of the snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import pyarrow as pa

from paimon_sql.format.metadata.manifest import ManifestEntry, entries
from paimon_sql.format.schema.records import Int, Long, Record, column
from paimon_sql.storage.data_files.pruning.file_indexes import held_indexes
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import RecordTable, SystemTable
from paimon_sql.system_tables.files.files import files_seen
from paimon_sql.system_tables.formatting import partition_labels

_THREADS = 32


class FileIndexes(RecordTable[Table], SystemTable):
    """Bloom filters, bitmaps and other file indexes of the data files of the snapshot that is read."""

    summary = "One row per file index of a column in a data file of the snapshot."

    class Row(Record):
        partition: str | None = column("partition values, {} without partitions")
        bucket: Int = column("bucket number")
        file_path: str = column("the data file")
        file_size_in_bytes: Long = column("size of the data file")
        record_count: Long = column("records in the data file")
        schema_id: Long = column("schema of the data file")
        column_name: str = column("column indexed")
        index_type: str = column("bloom-filter, bitmap, bsi, ...")
        storage_type: str = column("EMBEDDED in the manifest, or a separate FILE")
        index_file_path: str | None = column("name of that file")
        index_size_in_bytes: Long = column("size of this index")
        index_container_size_in_bytes: Long = column("size of all indexes of the data file together")
        is_empty: bool = column("the index has no content")

    def records(self, table: Table) -> Iterable[Row]:
        seen, live = files_seen(table)
        files = list(entries(live))
        labels = partition_labels(seen.schema, pa.array([e.partition for e in files], pa.binary())).to_pylist()
        found = map_in_threads(
            lambda labelled: list(_rows(seen, *labelled)),
            list(zip(labels, files, strict=True)),
            seen.file_io.threads_for(seen.path, len(files), _THREADS),
        )
        return chain.from_iterable(found)


def _rows(table: Table, partition: str, entry: ManifestEntry) -> Iterator[FileIndexes.Row]:
    """The rows of one data file."""
    file = entry.file
    path = table.locations.data_file(entry.partition, entry.bucket, file)
    with held_indexes(table, entry.partition, entry.bucket, file) as held:
        for place in held.places if held is not None else ():
            assert held is not None
            yield FileIndexes.Row(
                partition=partition,
                bucket=entry.bucket,
                file_path=path,
                file_size_in_bytes=file.file_size,
                record_count=file.row_count,
                schema_id=file.schema_id,
                column_name=place.column,
                index_type=place.kind,
                storage_type="EMBEDDED" if held.path is None else "FILE",
                index_file_path=held.path,
                index_size_in_bytes=place.length,
                index_container_size_in_bytes=held.size,
                is_empty=place.is_empty,
            )
