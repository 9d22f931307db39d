"""Migrated files, whose partition values are only in the name of their former directory."""

from __future__ import annotations

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.data_file import DATA_FILE_PREFIX
from paimon_sql.format.schema.schema import TableSchema


def may_lack_partition(schema: TableSchema, file: DataFileMeta) -> bool:
    """Whether a file may lack the partition columns, so that they must be taken from its partition.

    The metadata does not record this. Migrated files were added unchanged to tables without a primary key: they have no
    sequence numbers and not a writer's file name. A false positive is harmless, as the values are the same.
    """
    if not schema.partition_keys or schema.primary_keys or file.write_cols is not None:
        return False
    unnumbered = file.min_sequence_number == file.max_sequence_number == 0 and file.first_row_id is None
    return unnumbered and not file.file_name.startswith(TableOptions(schema.options).get(DATA_FILE_PREFIX))
