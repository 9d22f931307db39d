"""The bucket modes, found by themselves, and which of them a table has."""

from __future__ import annotations

from functools import cache

from paimon_sql.discovery import implementations
from paimon_sql.errors import UnsupportedError
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.write.buckets.base import BucketMode
from paimon_sql.storage.write.settings import WriteSettings


@cache
def _modes() -> tuple[BucketMode, ...]:
    return tuple(mode() for mode in implementations("paimon_sql.storage.write.buckets.modes", BucketMode))


def bucket_mode(schema: TableSchema) -> BucketMode:
    """How the rows of a table find their buckets.

    Raises:
        UnsupportedError: no mode suits the table.
    """
    buckets = WriteSettings(schema).buckets
    for mode in _modes():
        if mode.suits(schema, buckets):
            return mode
    raise UnsupportedError("No bucket mode suits the option 'bucket' and the primary key of the table.")


def bound_partition_keys(schema: TableSchema) -> tuple[str, ...]:
    """The partition columns that tell rows apart besides the primary key, which may stand in each partition.

    Only dynamic buckets know where in the table a key stands; fixed and postponed ones look into its partition alone.
    """
    if not schema.primary_keys or bucket_mode(schema).spans_partitions:
        return ()
    return tuple(name for name in schema.partition_keys if name not in schema.primary_keys)
