"""What a bucket mode is: it plans the writes of a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.write.buckets.state import WriteState
from paimon_sql.storage.write.task import WriteTask


class BucketMode(ABC):
    """How the rows of a table find their buckets (Paimon: ``BucketMode``).

    Class attributes:
        name: Paimon's name of the mode.
        has_buckets: rows stand in buckets at all.
        is_fixed: a row's bucket follows from its bucket key alone.
        is_shared: any task may write any row, as no bucket has one owner.
        spans_partitions: a key stands in one partition at most, whichever that is.
        is_postponed: rows are written before their bucket is known.
    """

    name: ClassVar[str]
    has_buckets: ClassVar[bool] = True
    is_fixed: ClassVar[bool] = False
    is_shared: ClassVar[bool] = False
    spans_partitions: ClassVar[bool] = False
    is_postponed: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def suits(cls, schema: TableSchema, buckets: int) -> bool:
        """Whether a table has this mode whose option ``bucket`` has this value; each has one."""

    @abstractmethod
    def plan(self, state: WriteState) -> WriteTask:
        """The task that each writer of a statement carries out."""


def has_dynamic_buckets(schema: TableSchema, buckets: int) -> bool:
    """Whether keys get buckets as they come: a primary key, and no number of buckets."""
    return bool(schema.primary_keys) and buckets <= 0 and buckets != POSTPONE_BUCKET
