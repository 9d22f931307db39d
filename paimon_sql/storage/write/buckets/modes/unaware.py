"""Bucket-unaware append tables: a row may lie in any file of its partition."""

from __future__ import annotations

from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.write.buckets.base import BucketMode
from paimon_sql.storage.write.buckets.clustered import ClusteredWriteTask
from paimon_sql.storage.write.buckets.state import WriteState
from paimon_sql.storage.write.clustering.clustering import clustering_of_writes
from paimon_sql.storage.write.task import WriteTask


class Unaware(BucketMode):
    """An append table with ``bucket`` -1."""

    name = "BUCKET_UNAWARE"
    has_buckets = False
    is_shared = True

    @classmethod
    def suits(cls, schema: TableSchema, buckets: int) -> bool:
        return not schema.primary_keys and buckets <= 0

    def plan(self, state: WriteState) -> WriteTask:
        layout = clustering_of_writes(state.table)
        return WriteTask(state.table) if layout is None else ClusteredWriteTask(state.table, layout=layout)
