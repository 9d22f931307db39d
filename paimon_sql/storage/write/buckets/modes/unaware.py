"""Bucket-unaware append tables: a row may lie in any file of its partition."""

from __future__ import annotations

from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.write.buckets.base import BucketMode, WriteState
from paimon_sql.storage.write.clustering.clustering import ClusteredWriteTask, clustering_of_writes
from paimon_sql.storage.write.task import WriteTask


class Unaware(BucketMode):
    """An append table with ``bucket`` -1."""

    name = "BUCKET_UNAWARE"
    number = -1
    has_buckets = False
    is_shared = True

    @classmethod
    def suits(cls, schema: TableSchema) -> bool:
        return not schema.has_key

    def plan(self, state: WriteState) -> WriteTask:
        layout = clustering_of_writes(state.table)
        return WriteTask(state.table) if layout is None else ClusteredWriteTask(state.table, layout=layout)
