"""Many stretches of one file, read with few calls: near ones come together, big ones each by itself without a copy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import CorruptFileError, UnsupportedError

_Numbers = npt.NDArray[np.int64]
_NEAR = 64 * 1024
"""Bytes between two stretches that are rather read along than skipped."""
_BIG = 64 * 1024
"""Stretches of more bytes than this on average are read each into its place."""
_MOST_BYTES = 2**31 - 1


@dataclass(frozen=True)
class ByteRanges:
    """A file that is open.

    Attributes:
        source: the file.
        path: its path.
        size: its size in bytes.
    """

    source: pa.NativeFile
    path: str
    size: int

    def values(self, starts: _Numbers, sizes: _Numbers) -> pa.Array:
        """Each stretch as a value of bytes.

        Args:
            starts: where each begins, in ascending order; they do not overlap.
            sizes: how many bytes each has.

        Raises:
            UnsupportedError: they have more bytes than an array can hold.
            CorruptFileError: the file ends before.
        """
        total = int(sizes.sum())
        if total > _MOST_BYTES:
            raise UnsupportedError(
                f"{self.path}: a blob of {int(sizes.max())} bytes is more than a value can hold here.",
                remedy="Read where it lies, with the option 'blob-as-descriptor' = 'true'.",
            )
        bounds = np.zeros(len(sizes) + 1, dtype=np.int32)
        np.cumsum(sizes, out=bounds[1:])
        data = self._joined(starts, sizes, total)
        return pa.Array.from_buffers(pa.binary(), len(sizes), [None, pa.py_buffer(bounds), pa.py_buffer(data)])

    def joined(self, starts: _Numbers, sizes: _Numbers) -> bytes:
        """The bytes of all stretches, one behind the other."""
        return self._joined(starts, sizes, int(sizes.sum())).tobytes()

    def _joined(self, starts: _Numbers, sizes: _Numbers, total: int) -> npt.NDArray[np.uint8]:
        if len(starts) and not 0 <= starts.min() <= (starts + sizes).max() <= self.size:
            raise CorruptFileError("ends before what its index says", path=self.path)
        found = np.empty(total, dtype=np.uint8)
        if not total:
            return found
        filled = np.flatnonzero(sizes)
        starts, sizes = starts[filled], sizes[filled]
        ends = starts + sizes
        # What is read along must be little beside what is wanted.
        near = _NEAR if total < _BIG * len(sizes) else 0
        heads = np.flatnonzero(np.append(True, starts[1:] - ends[:-1] > near))
        tails = np.append(heads[1:], len(starts)) - 1
        places = np.cumsum(sizes) - sizes
        for head, tail in zip(heads.tolist(), tails.tolist(), strict=True):
            begin, length = int(starts[head]), int(ends[tail] - starts[head])
            wanted = int(sizes[head : tail + 1].sum())
            at = int(places[head])
            if wanted == length:
                self._read_into(begin, found[at : at + length])
                continue
            span = np.empty(length, dtype=np.uint8)
            self._read_into(begin, span)
            marks = np.zeros(length + 1, dtype=np.int8)
            np.add.at(marks, starts[head : tail + 1] - begin, 1)
            np.add.at(marks, ends[head : tail + 1] - begin, -1)
            found[at : at + wanted] = span[np.cumsum(marks[:-1], dtype=np.int8).astype(bool)]
        return found

    def _read_into(self, begin: int, target: npt.NDArray[np.uint8]) -> None:
        self.source.seek(begin)
        held = memoryview(target.data)
        done = 0
        while done < len(held):
            got = self.source.readinto(held[done:])
            if not got:
                raise CorruptFileError("ends before what its index says", path=self.path)
            done += got
