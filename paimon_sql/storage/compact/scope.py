"""Scope of a compaction: the buckets that it may change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.text.durations import MILLISECOND
from paimon_sql.format.text.wall_clock import wall_clock_millis
from paimon_sql.storage.data_files.live_files import filter_partitions
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class Scope:
    """A selection of the buckets of a table; all by default.

    Attributes:
        partitions: a condition on partition columns.
        idle: the min time since the newest file of a partition.
        buckets: the bucket numbers, for tables with fixed buckets.
        excluded: the serialised partitions to exclude.
    """

    partitions: Predicate | None = None
    idle: timedelta | None = None
    buckets: frozenset[int] | None = None
    excluded: frozenset[bytes] = frozenset()

    def of(self, table: Table, live: pa.Table) -> pa.Table:
        """Filter the live files of a table."""
        found = filter_partitions(table, live, self.partitions)
        if self.excluded:
            excluded = pa.array(sorted(self.excluded), pa.binary())
            found = found.filter(pc.invert(pc.is_in(found["partition"], value_set=excluded)))
        if self.idle is not None:
            # The newest file of the partition counts, not that of the bucket.
            newest = found.group_by("partition").aggregate([("creation_time_millis", "max")])
            since = wall_clock_millis() - self.idle // MILLISECOND
            old = newest.filter(pc.less_equal(newest["creation_time_millis_max"], since))
            found = found.filter(pc.is_in(found["partition"], value_set=old["partition"].combine_chunks()))
        if self.buckets is not None:
            found = found.filter(pc.is_in(found["bucket"], value_set=pa.array(sorted(self.buckets), pa.int32())))
        return found


EVERYTHING = Scope()
