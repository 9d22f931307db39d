"""``t$table_indexes``: the index files of the snapshot."""

from __future__ import annotations

from dataclasses import astuple

import pyarrow as pa

from paimon_sql.format.metadata.index_manifest import IndexFileMeta
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import ArrayType, BigIntType, DataField, IntType, RowType, string_type
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import version_to_read
from paimon_sql.system_tables.base import SystemTable, column
from paimon_sql.system_tables.formatting import partition_labels

_RANGE = (
    DataField(0, "f0", string_type(False)),
    DataField(1, "f1", IntType(False)),
    DataField(2, "f2", IntType(False)),
    DataField(3, "_CARDINALITY", BigIntType()),
)


class TableIndexes(SystemTable):
    """Hash indexes, deletion vectors and global indexes of the snapshot that the read sees."""

    name = "table_indexes"
    summary = "One row per index file of the snapshot."
    columns = (
        column("partition", string_type(), "partition values, {} without partitions"),
        column("bucket", IntType(False), "bucket number"),
        column("index_type", string_type(False), "HASH, DELETION_VECTORS, or the type of a global index"),
        column("file_name", string_type(False), "the index file"),
        column("file_size", BigIntType(False), "its size"),
        column("row_count", BigIntType(False), "entries in it"),
        column(
            "dv_ranges",
            ArrayType(True, RowType(True, _RANGE)),
            "per data file its name, offset and length of its deletion vector, number of deleted rows",
        ),
        column("row_range_start", BigIntType(), "first row id that a global index covers"),
        column("row_range_end", BigIntType(), "last row id that a global index covers"),
        column("index_field_id", IntType(), "field id of a global index"),
        column("index_field_name", string_type(), "column of a global index"),
    )

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        version = version_to_read(table)
        seen = version.of(table)
        entries = index_entries(seen, version.snapshot)
        names = {f.id: f.name for f in seen.schema.fields}
        files = [e.file for e in entries]
        covered = [f.global_index for f in files]
        columns = {
            "partition": partition_labels(seen.schema, pa.array([e.partition for e in entries], pa.binary())),
            "bucket": [e.bucket for e in entries],
            "index_type": [f.index_type for f in files],
            "file_name": [f.file_name for f in files],
            "file_size": [f.file_size for f in files],
            "row_count": [f.row_count for f in files],
            "dv_ranges": [_ranges(f) for f in files],
            "row_range_start": [i and i.row_range_start for i in covered],
            "row_range_end": [i and i.row_range_end for i in covered],
            "index_field_id": [i and i.index_field_id for i in covered],
            "index_field_name": [i and names.get(i.index_field_id) for i in covered],
        }
        schema = arrow_schema(self.columns)
        return pa.Table.from_arrays([pa.array(columns[f.name], f.type) for f in schema], schema=schema)


def _ranges(file: IndexFileMeta) -> list[dict[str, object]] | None:
    if file.deletion_vectors is None:
        return None
    return [dict(zip([f.name for f in _RANGE], astuple(v), strict=True)) for v in file.deletion_vectors]
