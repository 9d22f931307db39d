"""Dropping of rows that do not count: ignored retractions, and rows up to the removal of a key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from paimon_sql.format.schema.row_kind import RowKind
from paimon_sql.storage.expressions.kernels.segments import NOWHERE, Mask
from paimon_sql.storage.expressions.kernels.sorting import Indices
from paimon_sql.storage.merge.engines.base import RowKinds
from paimon_sql.storage.merge.engines.reducing import Bundle
from paimon_sql.storage.merge.windows import Window


@dataclass(frozen=True)
class Remaining:
    """The rows that count.

    Attributes:
        bundle: the rows; for a key without any, one placeholder row.
        empty_keys: mask of the keys without any.
        kinds: the resulting kind of each key: INSERT, or the kind of the placeholder.
    """

    bundle: Bundle
    empty_keys: Mask
    kinds: RowKinds

    @property
    def placeholders(self) -> Mask:
        """Mask of the placeholder rows."""
        found: Mask = self.empty_keys[self.bundle.segments.owners]
        return found


def drop_retractions(bundle: Bundle, counts: Mask, stand_ins: Indices) -> Remaining:
    """Drop the rows that do not count.

    Args:
        bundle: the rows.
        counts: mask of the rows that count.
        stand_ins: the placeholder row of each key, in case none counts.
    """
    without_rows = ~bundle.segments.any(counts)
    kinds = np.where(without_rows, bundle.kinds[stand_ins], np.int8(RowKind.INSERT))
    if without_rows.any():
        counts = counts.copy()
        counts[stand_ins[without_rows]] = True
    return Remaining(bundle.where(counts), without_rows, kinds)


def removals(bundle: Bundle) -> Indices:
    """Return the last delete of each key, NOWHERE without one."""
    return bundle.segments.last(bundle.kinds == RowKind.DELETE)


def after(bundle: Bundle, positions: Indices) -> Mask:
    """Return a mask of the rows after a position in their key; all rows for NOWHERE."""
    mask: Mask = np.arange(len(bundle.segments)) > positions[bundle.segments.owners]
    return mask


def split_behind_deletes(window: Window) -> Iterator[Window]:
    """Split a writer's rows in two: up to the last delete of each key, and after it.

    Merged into one row, they would no longer delete the older rows in other files.
    """
    deletes = window.kinds == RowKind.DELETE
    if not deletes.any():
        yield window
        return
    last = window.segments.last(deletes)
    is_after = (np.arange(len(window.order)) > last[window.segments.owners]) & (last != NOWHERE)[window.segments.owners]
    yield from _parts(window, is_after.astype(np.int64))


def split_around_deletes(window: Window) -> Iterator[Window]:
    """Split a writer's rows so that each delete is on its own: what it removes depends on older files."""
    deletes = window.kinds == RowKind.DELETE
    if not deletes.any():
        yield window
        return
    steps = np.zeros(len(deletes), dtype=np.int64)
    steps[1:] = deletes[1:] | deletes[:-1]
    steps[window.starts] = 0
    running = np.cumsum(steps)
    yield from _parts(window, running - running[window.starts][window.segments.owners])


def _parts(window: Window, parts: Indices) -> Iterator[Window]:
    for part in range(int(parts.max()) + 1):
        yield window.where(parts == part)
