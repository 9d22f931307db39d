"""Options of one write: OPTIONS hints of an INSERT, and those of a ``DataFrameWriter``."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.options import canonical, check_changes, find_option, validate
from paimon_sql.format.options.operations.commit import DYNAMIC_PARTITION_OVERWRITE
from paimon_sql.format.options.table.table import PARTITION, PATH, PRIMARY_KEY, TYPE
from paimon_sql.format.options.values import Scope
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.options.read import given_options
from paimon_sql.storage.merge.lookup_levels import check_merging
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS

_OF_CREATION = frozenset((PRIMARY_KEY.key, PARTITION.key, PATH.key, TYPE.key))
"""What ``saveAsTable`` passes to the table that it makes and to the write that fills it alike."""


def write_options(jvm: Jvm, table: Table, options: Any) -> dict[str, str]:
    """The options of Paimon's that a write gives and the table has not itself; what it says of overwriting in any case.

    Options of others pass, since writers of DataFrames are handed what is meant for Spark as well.

    Raises:
        InvalidOptionError: an option does not take its value, or is fixed for the life of a table.
    """
    known = {k: v for k, v in given_options(jvm, options).items() if find_option(k) is not None}
    validate(known, Scope.SPARK)
    stored = table.schema.options
    asked = {k: v for k, v in canonical(known).items() if k not in _OF_CREATION | TRAVEL_KEYS}
    check_changes(stored, asked, has_snapshots=True)
    check_merging(table.name, table.options, table.with_options(asked).options)
    return {k: v for k, v in asked.items() if stored.get(k) != v or k == DYNAMIC_PARTITION_OVERWRITE.key}
