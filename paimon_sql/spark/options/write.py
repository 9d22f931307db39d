"""Options of one write: OPTIONS hints of an INSERT, and those of a ``DataFrameWriter``."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.options import canonical, check_changes, find_option, validate
from paimon_sql.format.options.operations.commit import DYNAMIC_PARTITION_OVERWRITE
from paimon_sql.format.options.table.table import PARTITION, PATH, PRIMARY_KEY, TYPE
from paimon_sql.format.options.values import Scope
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.options.read import read_options
from paimon_sql.storage.merge.lookup_levels import check_merging
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS

_CREATION_KEYS = frozenset((PRIMARY_KEY.key, PARTITION.key, PATH.key, TYPE.key))
"""Options that ``saveAsTable`` passes both to the table that it creates and to the write that fills it."""


def write_options(jvm: Jvm, table: Table, options: Any) -> dict[str, str]:
    """The Paimon options of a write that differ from the table's, and always that of dynamic partition overwrite.

    Unknown options are ignored, since a ``DataFrameWriter`` gets Spark's options as well.

    Raises:
        InvalidOptionError: an option has an invalid value or is immutable.
    """
    known = {k: v for k, v in read_options(jvm, options).items() if find_option(k) is not None}
    validate(known, Scope.SPARK)
    stored = table.schema.options
    requested = {k: v for k, v in canonical(known).items() if k not in _CREATION_KEYS | TRAVEL_KEYS}
    check_changes(stored, requested, has_snapshots=True)
    check_merging(table.name, table.options, table.with_options(requested).options)
    return {k: v for k, v in requested.items() if stored.get(k) != v or k == DYNAMIC_PARTITION_OVERWRITE.key}
