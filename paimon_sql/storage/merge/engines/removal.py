"""Rows that do not count: retractions that are ignored, and those that a removal of the whole row leaves behind."""

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
        bundle: the rows; of a key without any the one row that stands for it.
        gone: the keys without any.
        kinds: what becomes of each key: INSERT, or the kind of the row that stands for it.
    """

    bundle: Bundle
    gone: Mask
    kinds: RowKinds

    @property
    def stands_in(self) -> Mask:
        """Which rows stand for a key without rows that count."""
        found: Mask = self.gone[self.bundle.segments.owners]
        return found


def drop_retractions(bundle: Bundle, counts: Mask, stand_ins: Indices) -> Remaining:
    """Leave out the rows that do not count.

    Args:
        bundle: the rows.
        counts: which rows count.
        stand_ins: for each key the row that stands for it when none counts.
    """
    gone = ~bundle.segments.any(counts)
    kinds = np.where(gone, bundle.kinds[stand_ins], np.int8(RowKind.INSERT))
    if gone.any():
        counts = counts.copy()
        counts[stand_ins[gone]] = True
    return Remaining(bundle.where(counts), gone, kinds)


def removals(bundle: Bundle) -> Indices:
    """The last delete of each key, NOWHERE in a key without."""
    return bundle.segments.last(bundle.kinds == RowKind.DELETE)


def after(bundle: Bundle, positions: Indices) -> Mask:
    """Which rows come after a position in their key; all where it is NOWHERE."""
    behind: Mask = np.arange(len(bundle.segments)) > positions[bundle.segments.owners]
    return behind


def split_behind_deletes(window: Window) -> Iterator[Window]:
    """A writer's rows in two parts where a key has rows behind its last delete.

    Merged together they would be one row, from which nobody could tell that older rows in other files are gone.
    """
    deletes = window.kinds == RowKind.DELETE
    if not deletes.any():
        yield window
        return
    last = window.segments.last(deletes)
    behind = (np.arange(len(window.order)) > last[window.segments.owners]) & (last != NOWHERE)[window.segments.owners]
    yield from _parts(window, behind.astype(np.int64))


def split_around_deletes(window: Window) -> Iterator[Window]:
    """A writer's rows in parts of which each key's deletes stand alone, for what they remove depends on older files."""
    deletes = window.kinds == RowKind.DELETE
    if not deletes.any():
        yield window
        return
    steps = np.zeros(len(deletes), dtype=np.int64)
    steps[1:] = deletes[1:] | deletes[:-1]
    steps[window.starts] = 0
    running = np.cumsum(steps)
    yield from _parts(window, running - running[window.starts][window.segments.owners])


def _parts(window: Window, numbers: Indices) -> Iterator[Window]:
    for number in range(int(numbers.max()) + 1):
        yield window.where(numbers == number)
