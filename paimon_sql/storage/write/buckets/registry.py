"""The bucket modes, and which of them a table has."""

from __future__ import annotations

from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.write.buckets.base import BucketMode
from paimon_sql.storage.write.buckets.modes.cross_partition import CrossPartition
from paimon_sql.storage.write.buckets.modes.dynamic import Dynamic
from paimon_sql.storage.write.buckets.modes.fixed import Fixed
from paimon_sql.storage.write.buckets.modes.postpone import Postpone
from paimon_sql.storage.write.buckets.modes.unaware import Unaware
from paimon_sql.storage.write.settings import WriteSettings

FIXED, DYNAMIC, CROSS_PARTITION, POSTPONE, UNAWARE = Fixed(), Dynamic(), CrossPartition(), Postpone(), Unaware()


def bucket_mode(schema: TableSchema) -> BucketMode:
    """How the rows of a table find their buckets."""
    buckets = WriteSettings(schema).buckets
    if buckets > 0:
        return FIXED
    if not schema.primary_keys:
        return UNAWARE
    if buckets == -2:
        return POSTPONE
    return CROSS_PARTITION if set(schema.partition_keys) - set(schema.primary_keys) else DYNAMIC


def bound_partition_keys(schema: TableSchema) -> tuple[str, ...]:
    """The partition columns that tell rows apart besides the primary key, which may stand in each partition.

    Only dynamic buckets know where in the table a key stands; fixed and postponed ones look into its partition alone.
    """
    if not schema.primary_keys or bucket_mode(schema) is CROSS_PARTITION:
        return ()
    return tuple(name for name in schema.partition_keys if name not in schema.primary_keys)
