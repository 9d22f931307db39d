"""Fixed buckets: the option ``bucket`` sets their number, the hash of the bucket key decides a row's bucket."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.table.partitions import Router
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.assignment.routers import FixedRouter
from paimon_sql.storage.write.buckets.base import BucketMode, WriteState
from paimon_sql.storage.write.task import WriteTask


class Fixed(BucketMode):
    """A table with ``bucket`` above 0."""

    name = "HASH_FIXED"
    is_fixed = True

    @classmethod
    def suits(cls, schema: TableSchema) -> bool:
        return True

    def describe(self, table: Table) -> str:
        return f"{table.options.get(BUCKET)} buckets by {', '.join(table.schema.bucket_keys)}"

    def plan(self, state: WriteState) -> WriteTask:
        return FixedTask(state.table, state.sequences, state.bucket_numbers)


@dataclass(frozen=True)
class FixedTask(WriteTask):
    """Writes to fixed buckets; ``known`` are the current numbers of buckets by partition.

    Raises:
        InvalidInputError: while writing, if a partition has another number of buckets than the option sets.
    """

    known: Mapping[bytes, int] = field(default_factory=dict)

    def router(self) -> Router:
        return FixedRouter(self.table, self.table.options.get(BUCKET), self.known)
