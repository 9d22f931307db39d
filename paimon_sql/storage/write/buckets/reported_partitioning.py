"""Partitioning of a scan plan by buckets: rows with equal values of a column are in one bucket.

Joins and aggregations by that column need no shuffle. No partitioning is reported if a row could be in another bucket,
or if values that are equal to a reader could differ in bits, and so in their bucket.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from paimon_sql.format.options.table.bucket import BUCKET_FUNCTION_TYPE
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.scan.key_order import SAME_ORDER_TYPES
from paimon_sql.storage.scan.plan import MICROS, ScanPlan
from paimon_sql.storage.scan.read_state import depends_on_snapshot_alone
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.base import bucket_mode

_SAME_BITS_TYPES = (*SAME_ORDER_TYPES, t.VarBinaryType)
"""The types whose equal values have equal bits: not floating point, where 0.0 = -0.0, nor padded strings."""


@dataclass(frozen=True)
class Bucketing:
    """The bucketing of a plan's rows.

    Attributes:
        column: the bucket key.
        function: the name of the bucket function.
        form: the representation of the column's type that the function hashes (`form_of`).
        count: the number of buckets of each partition.
    """

    column: str
    function: str
    form: str
    count: int

    def is_like(self, other: Bucketing) -> bool:
        """Whether equal values are in equal buckets if both have the same number of these."""
        return (self.function, self.form) == (other.function, other.form)


def bucketing_of(plan: ScanPlan, columns: Collection[str]) -> Bucketing | None:
    """The bucketing of a plan by one of the columns that are read; None without one.

    The bucket key must be one column, and all partitions must have the same number of buckets, at least 2.
    """
    table = plan.table
    if not plan.splits or not bucket_mode(table.schema).is_fixed or len(table.schema.bucket_keys) != 1:
        return None
    (column,) = table.schema.bucket_keys
    count = plan.splits[0].total_buckets
    if column not in columns or count < 2 or not all(_is_in_place(split, count) for split in plan.splits):
        return None
    form = form_of(table.schema.field(column).type)
    if form is None or not depends_on_snapshot_alone(table) or not _is_unchanged(table, plan):
        return None
    return Bucketing(column, table.options.get(BUCKET_FUNCTION_TYPE), form, count)


def form_of(data_type: t.DataType) -> str | None:
    """The representation of a type whose equal values have equal bits, as a name; None if they may not."""
    if isinstance(data_type, (t.TimestampType, t.LocalZonedTimestampType)):
        return data_type.as_nullable().sql() if data_type.precision <= MICROS else None  # readers truncate finer ones
    if not isinstance(data_type, _SAME_BITS_TYPES):
        return None
    # The bits do not depend on the max length.
    is_sized = isinstance(data_type, (t.VarCharType, t.VarBinaryType))
    return type(data_type).__name__ if is_sized else data_type.as_nullable().sql()


def _is_in_place(split: Split, count: int) -> bool:
    """Whether a split's rows lie in the bucket of their keys out of ``count``, and in the split's partition."""
    return split.is_of_its_bucket and split.total_buckets == count and 0 <= split.bucket < count


def _is_unchanged(table: Table, plan: ScanPlan) -> bool:
    """Whether the schemas of all files assign buckets as the current one does."""
    others = {f.schema_id for s in plan.splits for f in s.files} - {table.schema.id}
    now = _bucketing_rule(table.schema)
    return all(_bucketing_rule(table.schemas.get(schema_id)) == now for schema_id in others)


def _bucketing_rule(schema: TableSchema) -> tuple[str, list[tuple[int, str | None]]]:
    """How a schema assigns buckets: the function, and id and form of each bucket key."""
    keys = [(f.id, form_of(f.type)) for f in schema.select(schema.bucket_keys)]
    return schema.options.get(BUCKET_FUNCTION_TYPE.key, BUCKET_FUNCTION_TYPE.default), keys
