"""Column statistics as manifests store them: smallest and greatest values and counts of nulls (spec: Manifest).

The values are serialised rows, one field a column; reading them needs the columns' types, which stand elsewhere.
A serialised row is its number of fields as four bytes, big-endian, followed by the BinaryRow itself.
"""

from __future__ import annotations

from typing import NamedTuple

EMPTY_ROW = bytes(12)
"""The serialised row without fields: the partition of an unpartitioned table, the key of a table without one."""


class SimpleStats(NamedTuple):
    """Statistics of some columns: a row of minima, a row of maxima and the number of nulls of each column.

    A null inside a row means that the bound is not known or that the column holds nulls only; ``null_counts`` is None,
    or holds None for a column, where they were not counted.
    """

    min_values: bytes
    max_values: bytes
    null_counts: tuple[int | None, ...] | None


EMPTY_STATS = SimpleStats(EMPTY_ROW, EMPTY_ROW, ())
"""The statistics of no column at all."""
