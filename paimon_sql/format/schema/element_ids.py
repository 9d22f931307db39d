"""Ids of array elements, map keys and map values in Parquet and ORC files, whose schemas store ids for fields only.

They are counted from a quarter of the positive 32-bit range: upwards for array elements and map values, downwards for
map keys, by 1024 times the id of the column plus the depth within it.
"""

from __future__ import annotations

_BASE = (2**31 - 1) // 4
_STEP = 1024


def element_id(field_id: int, depth: int) -> int:
    """The id of an array's element or a map's value, ``depth`` levels (from 1) below the field ``field_id``."""
    return _BASE + field_id * _STEP + depth


def key_id(field_id: int, depth: int) -> int:
    """The id of a map's key; the arguments are those of `element_id`."""
    return _BASE - field_id * _STEP - depth
