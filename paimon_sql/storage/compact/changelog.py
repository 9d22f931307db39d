"""Changelog rows: the changes from the old rows of some keys to their merged rows (spec: Changelog Producer)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.changelog import (
    CHANGELOG_PRODUCER_ROW_DEDUPLICATE,
    CHANGELOG_PRODUCER_ROW_DEDUPLICATE_IGNORE_FIELDS,
)
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import VALUE_KIND, RowKind
from paimon_sql.storage.expressions.kernels.equality import rows_equal
from paimon_sql.storage.expressions.kernels.sorting import NOWHERE, Indices, Mask
from paimon_sql.storage.merge.engines.base import is_retract
from paimon_sql.storage.merge.windows import RowOrder, Window


@dataclass(frozen=True)
class Versions:
    """For each key the index of its row in a table, or NOWHERE; rows that are deletes count as none."""

    table: pa.Table
    rows: Indices

    def living(self) -> Indices:
        """The indexes, NOWHERE for deletes too."""
        kinds = self.table[VALUE_KIND.name].to_numpy()
        if not len(kinds):
            return self.rows
        dead = (self.rows == NOWHERE) | is_retract(kinds[self.rows])
        return np.where(dead, NOWHERE, self.rows)


class ChangelogBuilder:
    """Builds changelog rows by the options of a table.

    Args:
        schema: the table's schema.
    """

    def __init__(self, schema: TableSchema) -> None:
        options = TableOptions(schema.options)
        ignored = (options.get(CHANGELOG_PRODUCER_ROW_DEDUPLICATE_IGNORE_FIELDS) or "").split(",")
        self._compared: Sequence[str] | None = None
        if options.get(CHANGELOG_PRODUCER_ROW_DEDUPLICATE):
            self._compared = [name for name in schema.names if name not in {i.strip() for i in ignored}]

    def changes(self, before: Versions, after: Versions, touched: Mask) -> pa.Table:
        """Return the changes of each key in order, the old row before the new one, with the columns of the new rows.

        Args:
            before: the old rows.
            after: the new rows, with the same columns or fewer.
            touched: the keys to compare; updates with equal rows are included, unless the option
                ``changelog-producer.row-deduplicate`` is set.
        """
        old, new = before.living(), after.living()
        had, has = (old != NOWHERE) & touched, (new != NOWHERE) & touched
        both = had & has
        if self._compared is not None and both.any():
            pairs = np.flatnonzero(both)
            same = rows_equal(before.table.take(old[pairs]), after.table.take(new[pairs]), self._compared)
            had[pairs[same]] = has[pairs[same]] = False
            both = had & has
        old_kind = np.where(both, RowKind.UPDATE_BEFORE, RowKind.DELETE)
        new_kind = np.where(both, RowKind.UPDATE_AFTER, RowKind.INSERT)
        included = np.stack([had, has], axis=1).ravel()
        rows = np.stack([old, new + len(before.table)], axis=1).ravel()[included]
        kinds = np.stack([old_kind, new_kind], axis=1).ravel()[included].astype(np.int8)
        columns = after.table.column_names
        stacked = pa.concat_tables([before.table.select(columns), after.table], promote_options="permissive")
        found = stacked.take(rows)
        return found.set_column(columns.index(VALUE_KIND.name), VALUE_KIND.name, pa.array(kinds))


def rows_by_key(schema: TableSchema, window: Window, merged: pa.Table) -> Indices:
    """For each key of the window the index of its merged row; NOWHERE for a key without one."""
    count = len(window.starts)
    if len(merged) == count:
        return np.arange(count)
    names = schema.trimmed_primary_keys
    keys = window.table.select(list(names)).take(window.oldest)
    order, starts = RowOrder(names).sort(pa.concat_tables([keys, merged.select(list(names))]))
    found = np.full(count, NOWHERE, dtype=np.int64)
    groups = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
    # Each key of the window starts a group, followed by its merged row.
    is_merged = order >= count
    found[groups[is_merged]] = order[is_merged] - count
    return found
