"""Files that came from another kind of table: their partition's values stand in the name of their old folder alone."""

from __future__ import annotations

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.data_file import DATA_FILE_PREFIX
from paimon_sql.format.schema.schema import TableSchema


def may_lack_partition(schema: TableSchema, file: DataFileMeta) -> bool:
    """Whether a file may not hold the partition columns, so that they are to be taken from its partition.

    Nothing in the metadata says so. Such files came as they were, to tables without a primary key: nobody numbered
    their rows, and their names are not those of a writer. What is taken for one wrongly is read rightly all the same.
    """
    if not schema.partition_keys or schema.primary_keys or file.write_cols is not None:
        return False
    unnumbered = file.min_sequence_number == file.max_sequence_number == 0 and file.first_row_id is None
    return unnumbered and not file.file_name.startswith(TableOptions(schema.options).get(DATA_FILE_PREFIX))
