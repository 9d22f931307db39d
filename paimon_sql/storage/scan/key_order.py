"""Scans in key order: buckets whose files form one sorted run give rows in the order of the primary key.

A file of a primary-key table is sorted by the key (spec: LSM Trees), unless files are clustered by other columns
(``pk-clustering-override``). Several files are one sorted run if their key ranges do not overlap, as after a full
compaction, and if nothing has to be merged into them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import replace
from itertools import takewhile
from typing import TypeVar

import numpy as np

from paimon_sql.format.options.operations.compaction import PK_CLUSTERING_OVERRIDE
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.data_files.live_files import grouped
from paimon_sql.storage.data_files.lsm_tree import key_ranks
from paimon_sql.storage.scan.plan import MICROS, ScanPlan
from paimon_sql.storage.scan.split import Split

K = TypeVar("K", bound=Hashable)

SAME_ORDER_TYPES = (
    t.BooleanType,
    t.TinyIntType,
    t.SmallIntType,
    t.IntType,
    t.BigIntType,
    t.DateType,
    t.DecimalType,
    t.VarCharType,
)
"""The types whose order in files is that of all readers: not floating point, nor strings that readers pad."""


def ordered_columns(schema: TableSchema, columns: Collection[str]) -> list[str]:
    """The columns that rows in key order are sorted by, as a reader of ``columns`` sees them: a prefix of the key."""
    leading = takewhile(lambda f: f.name in columns and _has_same_order(f.type), schema.key_fields)
    return [f.name for f in leading]


def in_key_order(plan: ScanPlan, group_of: Callable[[Split], K]) -> ScanPlan | None:
    """The plan with one split per group of splits, its files in key order; None if a group is unordered or merges.

    Args:
        plan: the plan.
        group_of: the group that a split belongs to.
    """
    schema = plan.table.schema
    if not schema.has_key or plan.table.options.get(PK_CLUSTERING_OVERRIDE):
        return None
    if not all(s.raw and s.is_of_its_bucket for s in plan.splits):
        return None
    made = [_one_run(schema, splits) for splits in grouped((group_of(s), s) for s in plan.splits).values()]
    return None if any(split is None for split in made) else replace(plan, splits=[s for s in made if s is not None])


def _has_same_order(data_type: t.DataType) -> bool:
    if isinstance(data_type, (t.TimestampType, t.LocalZonedTimestampType)):
        return data_type.precision <= MICROS
    return isinstance(data_type, SAME_ORDER_TYPES)


def _one_run(schema: TableSchema, splits: list[Split]) -> Split | None:
    first = splits[0]
    if any((s.partition, s.bucket) != (first.partition, first.bucket) for s in splits):
        return None  # keys of different partitions and buckets interleave
    files = [f for s in splits for f in s.files]
    low, high = key_ranks(schema, files)
    order = np.argsort(low, kind="stable")
    if not (high[order][:-1] < low[order][1:]).all():
        return None
    deletions = {name: deletion for s in splits for name, deletion in s.deletions.items()}
    return replace(first, files=tuple(files[i] for i in order), deletions=deletions, row_ids=None)
