"""Estimates of the number of groups in the rows of a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from paimon_sql.cache import Cache
from paimon_sql.format.layout.paths import format_of
from paimon_sql.format.schema.types import BooleanType
from paimon_sql.process import share
from paimon_sql.storage.file_formats.registry import file_format
from paimon_sql.storage.scan.plan import ScanPlan

_FEW = 32 * 1024
_MAX_CACHED_FILES = 1024
_distinct_values = share(lambda: Cache[str, Mapping[str, int]](_MAX_CACHED_FILES))
"""What the metadata of files tell, by path; files never change."""


def has_few_groups(plan: ScanPlan, names: Sequence[str]) -> bool:
    """Whether the rows of a plan form few groups, compared with those that are aggregated at once.

    The largest file stands for all. False if the dictionaries of its columns do not tell.

    Args:
        plan: the plan, with at least one file.
        names: the grouping columns; none make one group.
    """
    schema = plan.table.schema
    known = {f.name: 3 for f in schema.fields if isinstance(f.type, BooleanType)}
    # A file has one partition only.
    known |= {name: len({s.partition for s in plan.splits}) for name in schema.partition_keys}
    if not known.keys() >= {*names}:
        known = {**_of_largest_file(plan), **known}
    return known.keys() >= {*names} and prod(known[name] for name in names) <= _FEW


def _of_largest_file(plan: ScanPlan) -> Mapping[str, int]:
    """What the metadata of the largest file in the largest split tell."""
    split = max(plan.splits, key=lambda s: s.size)
    file = max(split.files, key=lambda f: f.file_size)
    owner = plan.owner(split)
    path = owner.locations.data_file(split.partition, split.bucket, file)
    kind = file_format(format_of(file.file_name))
    return _distinct_values().compute(path, lambda: kind.distinct_values(owner.file_io, path))
