"""Which buckets a compaction is about."""

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
    """Some of the buckets of a table; all by default.

    Attributes:
        partitions: a condition on partition columns.
        idle: how long no file must have come to a partition.
        buckets: numbers of buckets, for tables with a fixed number of them.
        apart: partitions, serialised, that are left alone.
    """

    partitions: Predicate | None = None
    idle: timedelta | None = None
    buckets: frozenset[int] | None = None
    apart: frozenset[bytes] = frozenset()

    def of(self, table: Table, live: pa.Table) -> pa.Table:
        """Those of a table's live files that it is about."""
        found = filter_partitions(table, live, self.partitions)
        if self.apart:
            left = pa.array(sorted(self.apart), pa.binary())
            found = found.filter(pc.invert(pc.is_in(found["partition"], value_set=left)))
        if self.idle is not None:
            # Idle is the partition, not the bucket: its newest file decides.
            newest = found.group_by("partition").aggregate([("creation_time_millis", "max")])
            since = wall_clock_millis() - self.idle // MILLISECOND
            old = newest.filter(pc.less_equal(newest["creation_time_millis_max"], since))
            found = found.filter(pc.is_in(found["partition"], value_set=old["partition"].combine_chunks()))
        if self.buckets is not None:
            found = found.filter(pc.is_in(found["bucket"], value_set=pa.array(sorted(self.buckets), pa.int32())))
        return found


EVERYTHING = Scope()
