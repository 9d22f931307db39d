"""Base class of bucket modes, which plan the writes of a table."""

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
        has_buckets: whether rows belong to buckets.
        is_fixed: whether a row's bucket depends on its bucket key alone.
        is_shared: whether any task may write any row, for no task owns a bucket.
        spans_partitions: whether a key is unique across partitions.
        is_postponed: whether rows are written before their bucket is known.
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
        """Whether this is the mode of a table with this value of the option ``bucket``; each table has exactly one."""

    @abstractmethod
    def plan(self, state: WriteState) -> WriteTask:
        """Plan the task that each writer of a statement runs."""


def has_dynamic_buckets(schema: TableSchema, buckets: int) -> bool:
    """Whether keys are assigned to buckets as they are written: primary key, and no number of buckets."""
    return bool(schema.primary_keys) and buckets <= 0 and buckets != POSTPONE_BUCKET
