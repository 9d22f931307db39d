"""Cross-partition upserts."""

from __future__ import annotations

from paimon_sql.errors import UnsupportedError
from paimon_sql.storage.buckets.base import BucketMode
from paimon_sql.storage.buckets.state import WriteState
from paimon_sql.storage.write.write_task import WriteTask


class CrossPartition(BucketMode):
    """A table with ``bucket`` -1 whose primary key lacks a partition column."""

    name = "KEY_DYNAMIC"

    def plan(self, state: WriteState) -> WriteTask:
        raise UnsupportedError(f"{state.table.name}: a key without the partition columns cannot be written yet.")
