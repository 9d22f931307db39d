"""``t$file_key_ranges``: the key ranges of the data files."""

from __future__ import annotations

from typing import ClassVar

import pyarrow as pa

from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import SystemTable
from paimon_sql.system_tables.files.files import Files

_SHOWN = (
    "partition",
    "bucket",
    "file_path",
    "file_format",
    "schema_id",
    "level",
    "record_count",
    "file_size_in_bytes",
    "min_key",
    "max_key",
    "first_row_id",
)
_BY_NAME = {f.name: f for f in Files.columns}


class FileKeyRanges(SystemTable):
    """The live data files of the snapshot that the read sees, with their smallest and greatest keys."""

    name = "file_key_ranges"
    summary = "One row per data file of the snapshot, with its range of keys."
    columns: ClassVar[tuple[DataField, ...]] = tuple(_BY_NAME[name] for name in _SHOWN)

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        return Files().rows(table, predicate).select(list(_SHOWN))
