"""``t$file_key_ranges``: the key ranges of the data files."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.format.schema.records import Long, column
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import SystemTable
from paimon_sql.system_tables.files.files import DataFile, Files, estimated_files


class FileKeyRanges(SystemTable):
    """The live data files of the snapshot that is read, with their min and max keys."""

    summary = "One row per data file of the snapshot, with its range of keys."

    class Row(DataFile):
        first_row_id: Long | None = column("row id of the first row, with row tracking")

    def estimated_rows(self, table: Table) -> int:
        return estimated_files(table)

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        return Files().selected(table, [f.name for f in self.columns], predicate)
