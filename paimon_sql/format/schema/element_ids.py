"""The ids that nested elements carry in Parquet and ORC files, beside the fields that have ids of their own.

They lie around the middle of a quarter of the 32-bit range: an array's element and a map's value above it, a map's
key below it, each by 1024 times the id of the column that holds them, plus how deep they lie within it.
"""

from __future__ import annotations

_BASE = (2**31 - 1) // 4
_STEP = 1024


def element_id(field_id: int, depth: int) -> int:
    """The id of an array's element or a map's value, ``depth`` levels (1 and up) below field ``field_id``."""
    return _BASE + field_id * _STEP + depth


def key_id(field_id: int, depth: int) -> int:
    """The id of a map's key."""
    return _BASE - field_id * _STEP - depth
