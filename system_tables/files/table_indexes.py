"""``t$table_indexes``: the index files of the snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import Annotated

import pyarrow as pa

from paimon_sql.format.metadata.index_manifest import IndexFileMeta
from paimon_sql.format.schema.records import Int, Long, Record, column
from paimon_sql.format.schema.types import ArrayType, BigIntType, DataField, IntType, RowType, string_type
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import version_to_read
from paimon_sql.system_tables.base import RecordTable, SystemTable
from paimon_sql.system_tables.formatting import partition_labels

_RANGE = (
    DataField(0, "f0", string_type(False)),
    DataField(1, "f1", IntType(False)),
    DataField(2, "f2", IntType(False)),
    DataField(3, "_CARDINALITY", BigIntType()),
)
_Ranges = Annotated[Sequence[Mapping[str, object]], ArrayType(True, RowType(True, _RANGE))]


class TableIndexes(RecordTable[Table], SystemTable):
    """Hash indexes, deletion vectors and global indexes of the snapshot that is read."""

    summary = "One row per index file of the snapshot."

    class Row(Record):
        partition: str | None = column("partition values, {} without partitions")
        bucket: Int = column("bucket number")
        index_type: str = column("HASH, DELETION_VECTORS, or the type of a global index")
        file_name: str = column("the index file")
        file_size: Long = column("size of the index file")
        row_count: Long = column("entries in the index file")
        dv_ranges: _Ranges | None = column(
            "per data file its name, offset and length of its deletion vector, number of deleted rows"
        )
        row_range_start: Long | None = column("first row id that a global index covers")
        row_range_end: Long | None = column("last row id that a global index covers")
        index_field_id: Int | None = column("field id of a global index")
        index_field_name: str | None = column("column of a global index")

    def records(self, table: Table) -> Iterable[object]:
        version = version_to_read(table)
        seen = version.of(table)
        entries = index_entries(seen, version.snapshot)
        names = {f.id: f.name for f in seen.schema.fields}
        labels = partition_labels(seen.schema, pa.array([e.partition for e in entries], pa.binary())).to_pylist()
        for label, e, i in zip(labels, entries, (e.file.global_index for e in entries), strict=True):
            yield self.row(
                e.file,
                partition=label,
                bucket=e.bucket,
                dv_ranges=_ranges(e.file),
                row_range_start=i.row_range_start if i else None,
                row_range_end=i.row_range_end if i else None,
                index_field_id=i.index_field_id if i else None,
                index_field_name=names.get(i.index_field_id) if i else None,
            )


def _ranges(file: IndexFileMeta) -> list[dict[str, object]] | None:
    if file.deletion_vectors is None:
        return None
    return [dict(zip([f.name for f in _RANGE], astuple(v), strict=True)) for v in file.deletion_vectors]
