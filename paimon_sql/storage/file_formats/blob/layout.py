"""Constants of the layout of blob files (spec: Blob File)."""

from __future__ import annotations

import struct

VERSION = 1
MAGIC = bytes.fromhex("cf114e58")
AHEAD, BEHIND = 4, 12
"""Bytes of a record before and after its content."""
LENGTH, CHECKSUM = struct.Struct("<q"), struct.Struct("<I")
FOOTER = struct.Struct("<iB")
NULL, ELSEWHERE = -1, -2
"""Lengths that mark a null, and a value that an older file stores."""
