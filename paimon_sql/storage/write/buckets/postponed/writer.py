"""Writing rows that wait for their buckets: files of the postponed bucket of each partition, in the order they come.

Every writer has a prefix of its own in the names of its files, and the files are Avro without statistics where that
can hold the columns: they are read once, file by file, and thrown away (spec: Postpone Bucket).
"""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.options.table.data_file import DATA_FILE_PREFIX, FILE_FORMAT, METADATA_STATS_MODE
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import SEQUENCE_NUMBER, key_value_fields
from paimon_sql.storage.file_formats.avro.schema import avro_schema
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.table.partitioning.routing import Router
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.append_writer import AppendWriter
from paimon_sql.storage.write.key_value_writer import as_stored, check_keys
from paimon_sql.storage.write.rows.row_kinds import KindsOfRows

_NO_SEQUENCE = -1
_MOST_WRITERS = 2**31 - 1


class PostponeWriter(AppendWriter):
    """Writes rows of a keyed table into the postponed bucket.

    Args:
        table: the table.
        run: what the names of all files of a statement have in common.
    """

    def __init__(self, table: Table, run: str) -> None:
        prefix = f"{table.options.get(DATA_FILE_PREFIX)}-u-{run}-s-{random.randrange(_MOST_WRITERS)}-w-"
        waiting = table.with_options({DATA_FILE_PREFIX.key: prefix, **_file_options(table.schema)})
        super().__init__(waiting, router=Router(table.schema, 1))
        self._total = POSTPONE_BUCKET
        self._kinds = KindsOfRows(table, merge_engine(table.schema))

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows; the columns are those of the table, perhaps with the kind of each row behind them."""
        check_keys(self._table, batch)
        rows = self._kinds.given(batch)
        numbers = pa.array(np.full(rows.num_rows, _NO_SEQUENCE, dtype=np.int64))
        numbered = pa.Table.from_batches([rows.append_column(SEQUENCE_NUMBER.name, numbers)])
        for stored in as_stored(self._settings, numbered).to_batches():
            for partition, _, part in self._router.split(stored):
                self._buffers.add((partition, POSTPONE_BUCKET), part)


def _file_options(schema: TableSchema) -> dict[str, str]:
    try:
        avro_schema(key_value_fields(schema))
    except UnsupportedError:
        return {}
    return {FILE_FORMAT.key: "avro", METADATA_STATS_MODE.key: "none"}
