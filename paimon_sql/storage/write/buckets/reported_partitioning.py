"""What the buckets of a plan tell of its rows: those with equal values of a column are in one bucket.

Whoever joins or groups by that column need not bring such rows together. Nothing is told where one row might be
elsewhere, or where values that are equal to a reader could have other bits, and so another bucket.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from paimon_sql.format.options.table.bucket import BUCKET_FUNCTION_TYPE
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.scan.plan import MICROS, ScanPlan
from paimon_sql.storage.scan.seen import depends_on_snapshot_alone
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.registry import bucket_mode

_OF_ONE_FORM = (
    t.BooleanType,
    t.TinyIntType,
    t.SmallIntType,
    t.IntType,
    t.BigIntType,
    t.DateType,
    t.DecimalType,
    t.VarCharType,
    t.VarBinaryType,
)
"""The types whose equal values have equal bits: not floating points, of which 0.0 = -0.0, nor padded texts."""


@dataclass(frozen=True)
class Bucketing:
    """In which bucket of its partition a row is.

    Attributes:
        column: the column whose value decides.
        function: the name of the bucket function.
        form: how the function sees values of the column's type.
        count: how many buckets each partition has.
    """

    column: str
    function: str
    form: str
    count: int

    def is_like(self, other: Bucketing) -> bool:
        """Whether equal values have equal buckets where both have as many."""
        return (self.function, self.form) == (other.function, other.form)


def bucketing_of(plan: ScanPlan, columns: Collection[str]) -> Bucketing | None:
    """By which of the columns that are read the rows of a plan are in buckets; None where that cannot be told.

    The bucket key must be one column, and all partitions must have one number of buckets above 1.
    """
    table = plan.table
    if not plan.splits or not bucket_mode(table.schema).is_fixed or len(table.schema.bucket_keys) != 1:
        return None
    (column,) = table.schema.bucket_keys
    count = plan.splits[0].total_buckets
    if column not in columns or count < 2 or not all(_is_in_place(split, count) for split in plan.splits):
        return None
    form = form_of(table.schema.field(column).type)
    if form is None or not depends_on_snapshot_alone(table) or not _was_always(table, plan):
        return None
    return Bucketing(column, table.options.get(BUCKET_FUNCTION_TYPE), form, count)


def form_of(data_type: t.DataType) -> str | None:
    """How values of a type are seen where equal ones are to have equal bits; None if they have not."""
    if isinstance(data_type, (t.TimestampType, t.LocalZonedTimestampType)):
        return data_type.as_nullable().sql() if data_type.precision <= MICROS else None  # readers cut finer ones
    if not isinstance(data_type, _OF_ONE_FORM):
        return None
    # The bits do not depend on how long values may be.
    is_sized = isinstance(data_type, (t.VarCharType, t.VarBinaryType))
    return type(data_type).__name__ if is_sized else data_type.as_nullable().sql()


def _is_in_place(split: Split, count: int) -> bool:
    """Whether a split's rows are in the bucket out of so many that their keys tell, in the split's own partition."""
    return split.is_of_its_bucket and split.total_buckets == count and 0 <= split.bucket < count


def _was_always(table: Table, plan: ScanPlan) -> bool:
    """Whether all files were written into buckets as they would be now."""
    others = {f.schema_id for s in plan.splits for f in s.files} - {table.schema.id}
    now = _places_by(table.schema)
    return all(_places_by(table.schemas.get(schema_id)) == now for schema_id in others)


def _places_by(schema: TableSchema) -> tuple[str, list[tuple[int, str | None]]]:
    """By what a version of the schema places rows: the function, and each column's id and how it is seen."""
    keys = [(f.id, form_of(f.type)) for f in schema.select(schema.bucket_keys)]
    return schema.options.get(BUCKET_FUNCTION_TYPE.key, BUCKET_FUNCTION_TYPE.default), keys
