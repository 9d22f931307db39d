"""Column statistics as manifests store them: min and max values, and null counts (spec: Manifest).

The values are serialized rows, one field per column; decoding them needs the columns' types. A serialized row is its
number of fields as four bytes, big-endian, followed by the BinaryRow.
"""

from __future__ import annotations

from typing import NamedTuple

EMPTY_ROW = bytes(12)
"""The serialized row without fields: the partition of an unpartitioned table, the key of a table without one."""


class SimpleStats(NamedTuple):
    """Statistics of some columns: a row of minima, a row of maxima and the null count of each column.

    A null in a row means that the bound is unknown or that the column has only nulls; ``null_counts``, or an item of
    it, is None if nulls were not counted.
    """

    min_values: bytes
    max_values: bytes
    null_counts: tuple[int | None, ...] | None


EMPTY_STATS = SimpleStats(EMPTY_ROW, EMPTY_ROW, ())
"""The statistics of no columns."""
