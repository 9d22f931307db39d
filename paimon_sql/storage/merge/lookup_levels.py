"""Merging of tables with lookup compaction: the newest row above level 0 replaces all older rows of its key.

A lookup compaction merges new rows with the newest row on any level, and writes the complete result. Rows on deeper
levels are outdated, so a merge takes the rows of level 0 and one other.
"""

from __future__ import annotations

import numpy as np

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.changelog import CHANGELOG_PRODUCER
from paimon_sql.format.options.operations.compaction import FORCE_LOOKUP
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.format.schema.system_fields import LEVEL
from paimon_sql.storage.expressions.kernels.sorting import NOWHERE, Indices
from paimon_sql.storage.merge.registry import engine_of
from paimon_sql.storage.merge.windows import Window
from paimon_sql.storage.table.changelog_producer import changelog_producer


def looks_up(options: TableOptions) -> bool:
    """Whether compactions look up rows, and so leave no row on level 0."""
    return bool(
        engine_of(options).keeps_first
        or changelog_producer(options).looks_up
        or options.get(DELETION_VECTORS_ENABLED)
        or options.get(FORCE_LOOKUP)
    )


def merges_by_level(options: TableOptions) -> bool:
    """Whether outdated rows must be dropped by level, because the merge engine would count them."""
    return looks_up(options) and not engine_of(options).selects


def check_merging(name: str, before: TableOptions, after: TableOptions) -> None:
    """Check that rows merged by compactions have the same meaning under other options.

    With lookup compaction a row above level 0 is the complete result, otherwise possibly a part of it.

    Args:
        name: the table, for the message.
        before: the current options of a table with data.
        after: the options to read or write it with.

    Raises:
        InvalidOptionError: the meaning differs.
    """
    if merges_by_level(before) == merges_by_level(after):
        return
    raise InvalidOptionError(
        f"{name}: the option '{CHANGELOG_PRODUCER.key}' of a table with data cannot change this way: rows that"
        " compactions have merged would count twice or not at all.",
        key=CHANGELOG_PRODUCER.key,
        remedy="Create a new table with the wanted value and copy the data into it.",
    )


def newest_above(window: Window) -> Indices:
    """Return the position, in the window's order, of each key's row on the min level above 0; NOWHERE without one."""
    levels = window.table[LEVEL.name].to_numpy()[window.order]
    segments = window.segments
    # Stable, and per key by level, those of level 0 last.
    ranked = np.lexsort((np.where(levels > 0, levels, np.iinfo(np.int32).max), segments.owners))
    first = ranked[window.starts]
    return np.where(levels[first] > 0, first, NOWHERE)


def up_to_date(window: Window) -> Window:
    """Drop the rows that a newer one above level 0 replaces, and the column ``_LEVEL``, which the window must have."""
    levels = window.table[LEVEL.name].to_numpy()[window.order]
    mask = levels == 0
    newest = newest_above(window)
    mask[newest[newest != NOWHERE]] = True
    return Window(window.table.drop_columns([LEVEL.name]), window.order, window.starts).where(mask)
