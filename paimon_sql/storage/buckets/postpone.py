"""Postponed buckets."""

from __future__ import annotations

from paimon_sql.errors import UnsupportedError
from paimon_sql.storage.buckets.base import BucketMode
from paimon_sql.storage.buckets.state import WriteState
from paimon_sql.storage.write.write_task import WriteTask


class Postpone(BucketMode):
    """A table with ``bucket`` -2."""

    name = "POSTPONE_MODE"

    def plan(self, state: WriteState) -> WriteTask:
        raise UnsupportedError(f"{state.table.name}: postponed buckets cannot be written yet.")
