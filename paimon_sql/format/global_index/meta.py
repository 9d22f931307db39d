"""Metadata of a global index file in the index manifest: its key range, and the snapshot of which it was built."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from paimon_sql.format.bytes.bounded import check_range

_VERSION = 1
_FIRST_IS_NULL, _LAST_IS_NULL = 1, 2
_MAGIC = b"DEIX"
_SOURCE = struct.Struct(">4siq")


@dataclass(frozen=True)
class KeyRange:
    """The min and the max key of a file, as bytes; None if all keys are null."""

    first: bytes | None
    last: bytes | None
    has_nulls: bool

    def write(self) -> bytes:
        """Encode the range for the manifest."""
        ends = [self.first or b"", self.last or b""]
        flags = (_FIRST_IS_NULL if self.first is None else 0) | (_LAST_IS_NULL if self.last is None else 0)
        sized = b"".join(struct.pack("<i", len(end)) + end for end in ends)
        return sized + struct.pack("<BBB", self.has_nulls, _VERSION, flags)

    @classmethod
    def read(cls, data: bytes) -> KeyRange:
        """Decode a range; older versions do not distinguish null from an empty key.

        Raises:
            ValueError: the bytes are not such a range.
        """
        try:
            ends, at = [], 0
            for _ in range(2):
                (size,) = struct.unpack_from("<i", data, at)
                check_range(at + 4, size, len(data), "a key")
                ends.append(data[at + 4 : at + 4 + size])
                at += 4 + size
            has_nulls = data[at] == 1
        except (struct.error, IndexError) as error:
            raise ValueError(f"the range of keys ends too early: {error}") from error
        first, last = ends
        rest = data[at + 1 :]
        if len(rest) >= 2:
            flags = rest[1] if rest[0] == _VERSION else 0
            none = bool(flags & _FIRST_IS_NULL), bool(flags & _LAST_IS_NULL)
        else:
            none = (has_nulls and not first and not last,) * 2
        return cls(None if none[0] else first, None if none[1] else last, has_nulls)


def written_source(snapshot_id: int) -> bytes:
    """Encode the source metadata of an index that was built from a snapshot."""
    return _SOURCE.pack(_MAGIC, 1, snapshot_id)


def source_snapshot(data: bytes | None) -> int | None:
    """The snapshot from which an index was built; None if it is not recorded."""
    if data is None or len(data) != _SOURCE.size:
        return None
    magic, version, snapshot_id = _SOURCE.unpack(data)
    return snapshot_id if magic == _MAGIC and version == 1 else None
