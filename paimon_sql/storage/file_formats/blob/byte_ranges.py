"""Reads of many byte ranges of one file with few calls: nearby ranges are merged, large ones read without a copy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import CorruptFileError, UnsupportedError

_Numbers = npt.NDArray[np.int64]
_MAX_GAP = 64 * 1024
"""Maximum bytes between two ranges that are read along instead of skipped."""
_LARGE = 64 * 1024
"""Average size from which ranges are read one by one, directly into the result."""
_MAX_BYTES = 2**31 - 1


@dataclass(frozen=True)
class ByteRanges:
    """An open file.

    Attributes:
        source: the file.
        path: its path.
        size: its size in bytes.
    """

    source: pa.NativeFile
    path: str
    size: int

    def values(self, starts: _Numbers, sizes: _Numbers) -> pa.Array:
        """Return each range as a binary value.

        Args:
            starts: start of each range, ascending, without overlaps.
            sizes: size of each range in bytes.

        Raises:
            UnsupportedError: they exceed the size of an array.
            CorruptFileError: the file is too short.
        """
        total = int(sizes.sum())
        if total > _MAX_BYTES:
            raise UnsupportedError(
                f"{self.path}: a blob of {int(sizes.max())} bytes is more than a value can hold here.",
                remedy="Read where it lies, with the option 'blob-as-descriptor' = 'true'.",
            )
        bounds = np.zeros(len(sizes) + 1, dtype=np.int32)
        np.cumsum(sizes, out=bounds[1:])
        data = self._joined(starts, sizes, total)
        return pa.Array.from_buffers(pa.binary(), len(sizes), [None, pa.py_buffer(bounds), pa.py_buffer(data)])

    def joined(self, starts: _Numbers, sizes: _Numbers) -> bytes:
        """Return the concatenated bytes of all ranges."""
        return self._joined(starts, sizes, int(sizes.sum())).tobytes()

    def _joined(self, starts: _Numbers, sizes: _Numbers, total: int) -> npt.NDArray[np.uint8]:
        if len(starts) and not 0 <= starts.min() <= (starts + sizes).max() <= self.size:
            raise CorruptFileError("ends before what its index says", path=self.path)
        result = np.empty(total, dtype=np.uint8)
        if not total:
            return result
        filled = np.flatnonzero(sizes)
        starts, sizes = starts[filled], sizes[filled]
        ends = starts + sizes
        # Gaps are read along only if ranges are small, so that they stay a small part.
        max_gap = _MAX_GAP if total < _LARGE * len(sizes) else 0
        heads = np.flatnonzero(np.append(True, starts[1:] - ends[:-1] > max_gap))
        tails = np.append(heads[1:], len(starts)) - 1
        positions = np.cumsum(sizes) - sizes
        for head, tail in zip(heads.tolist(), tails.tolist(), strict=True):
            begin, length = int(starts[head]), int(ends[tail] - starts[head])
            wanted = int(sizes[head : tail + 1].sum())
            at = int(positions[head])
            if wanted == length:
                self._read_into(begin, result[at : at + length])
                continue
            span = np.empty(length, dtype=np.uint8)
            self._read_into(begin, span)
            marks = np.zeros(length + 1, dtype=np.int8)
            np.add.at(marks, starts[head : tail + 1] - begin, 1)
            np.add.at(marks, ends[head : tail + 1] - begin, -1)
            result[at : at + wanted] = span[np.cumsum(marks[:-1], dtype=np.int8).astype(bool)]
        return result

    def _read_into(self, begin: int, target: npt.NDArray[np.uint8]) -> None:
        self.source.seek(begin)
        buffer = memoryview(target.data)
        done = 0
        while done < len(buffer):
            count = self.source.readinto(buffer[done:])
            if not count:
                raise CorruptFileError("ends before what its index says", path=self.path)
            done += count
