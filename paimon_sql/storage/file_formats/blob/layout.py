"""The numbers of which files of blobs are built (spec: Blob File)."""

from __future__ import annotations

import struct

VERSION = 1
MAGIC = bytes.fromhex("cf114e58")
AHEAD, BEHIND = 4, 12
"""The bytes of a record before and behind its content."""
LENGTH, CHECKSUM = struct.Struct("<q"), struct.Struct("<I")
FOOTER = struct.Struct("<iB")
NULL, ELSEWHERE = -1, -2
"""What stands for the length of a null, and of a value that an older file holds."""
