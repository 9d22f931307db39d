"""Tables whose compactions look rows up: there the newest row above level 0 stands for all older ones of its key.

A compaction of such a table merges fresh rows with the row that it finds on any level, and writes the whole result.
What lies deeper is out of date, so whoever merges takes the rows of level 0 and one other.
"""

from __future__ import annotations

import numpy as np

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.changelog import CHANGELOG_PRODUCER
from paimon_sql.format.options.operations.compaction import FORCE_LOOKUP
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.format.options.table.merge_engine import MERGE_ENGINE
from paimon_sql.format.schema.system_fields import LEVEL
from paimon_sql.storage.expressions.kernels.segments import NOWHERE
from paimon_sql.storage.expressions.kernels.sorting import Indices
from paimon_sql.storage.merge.windows import Window


def looks_up(options: TableOptions) -> bool:
    """Whether compactions of the table look rows up, and so leave no row on level 0."""
    return bool(
        options.get(MERGE_ENGINE) == "first-row"
        or options.get(CHANGELOG_PRODUCER) == "lookup"
        or options.get(DELETION_VECTORS_ENABLED)
        or options.get(FORCE_LOOKUP)
    )


def merges_by_level(options: TableOptions) -> bool:
    """Whether out-of-date rows must be told by their level, because the engine would count them."""
    return looks_up(options) and options.get(MERGE_ENGINE) in ("partial-update", "aggregation")


def check_merging(name: str, before: TableOptions, after: TableOptions) -> None:
    """Nothing if rows that compactions have merged under the first options mean the same under the others.

    Where compactions look rows up a row above level 0 is the whole result, elsewhere it may be a part of it.

    Args:
        name: the table.
        before: the options of a table that holds rows.
        after: those that it is to be read or written by.

    Raises:
        InvalidOptionError: they do not.
    """
    if merges_by_level(before) == merges_by_level(after):
        return
    raise InvalidOptionError(
        f"{name}: the option '{CHANGELOG_PRODUCER.key}' of a table with data cannot change so: rows that"
        " compactions have merged would count twice or not at all.",
        key=CHANGELOG_PRODUCER.key,
        remedy="Create a new table with the wanted value and copy the data into it.",
    )


def newest_above(window: Window) -> Indices:
    """The position, in the window's order, of each key's row on the least level above 0; NOWHERE without one."""
    levels = window.table[LEVEL.name].to_numpy()[window.order]
    segments = window.segments
    # Stable: inside a key the rows by level, those of level 0 behind all others.
    ranked = np.lexsort((np.where(levels > 0, levels, np.iinfo(np.int32).max), segments.owners))
    first = ranked[window.starts]
    found: Indices = np.where(levels[first] > 0, first, NOWHERE)
    return found


def up_to_date(window: Window) -> Window:
    """The window without the rows that a newer one above level 0 stands for.

    Its table must have the column ``_LEVEL``, and has it no more afterwards.
    """
    levels = window.table[LEVEL.name].to_numpy()[window.order]
    mask = levels == 0
    newest = newest_above(window)
    mask[newest[newest != NOWHERE]] = True
    return Window(window.table.drop_columns([LEVEL.name]), window.order, window.starts).where(mask)
