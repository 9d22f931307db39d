"""Registry of bucket modes."""

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
    """The bucket mode of a table.

    Raises:
        UnsupportedError: no mode suits the table.
    """
    buckets = WriteSettings(schema).buckets
    for mode in _modes():
        if mode.suits(schema, buckets):
            return mode
    raise UnsupportedError("No bucket mode suits the option 'bucket' and the primary key of the table.")


def bound_partition_keys(schema: TableSchema) -> tuple[str, ...]:
    """The partition columns that identify a row together with the primary key, as a key may be in several partitions.

    Only cross-partition writes find a key in any partition; the other modes look into the row's partition only.
    """
    if not schema.primary_keys or bucket_mode(schema).spans_partitions:
        return ()
    return tuple(name for name in schema.partition_keys if name not in schema.primary_keys)
