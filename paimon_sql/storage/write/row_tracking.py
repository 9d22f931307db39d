"""Writes of updates to tables with row tracking: updated rows keep their row ids (spec: Row Tracking)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.schema.row_kind import RowKind
from paimon_sql.format.schema.system_fields import ROW_ID, SEQUENCE_NUMBER, VALUE_KIND
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.write.append_writer import AppendWriter
from paimon_sql.storage.write.settings import TrackedSettings
from paimon_sql.storage.write.task import WriteTask


@dataclass(frozen=True)
class TrackedWriteTask(WriteTask):
    """Writes new rows, and in separate files updated rows with their ids in a column ``_ROW_ID``.

    The commit assigns ids to new rows, and its snapshot to all rows as the one that changed them last.
    """

    def write(self, rows: Iterable[pa.RecordBatch]) -> list[CommitMessage]:
        fresh, known = (AppendWriter(self.table, settings=s) for s in (None, TrackedSettings(self.table.schema)))
        try:
            for batch in rows:
                updated = pc.equal(batch.column(VALUE_KIND.name), RowKind.UPDATE_AFTER)
                fresh.write(batch.filter(pc.invert(updated)))
                moved = batch.filter(updated)
                if moved.num_rows:
                    assert ROW_ID.name in moved.schema.names
                    unknown = pa.nulls(moved.num_rows, pa.int64())
                    known.write(moved.append_column(SEQUENCE_NUMBER.name, unknown))
            return [*fresh.close(), *known.close()]
        except BaseException:
            fresh.abort()
            known.abort()
            raise
