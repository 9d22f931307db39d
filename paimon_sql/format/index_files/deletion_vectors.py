"""Deletion vectors: which rows of a data file are deleted, and the index files that hold them (spec: Table Index).

An index file is a version byte and then vectors, each found by the offset that the index manifest gives it. A vector
is a length, a magic number, a roaring bitmap of row positions and a CRC-32 of the last two; length and checksum are
big-endian. There are two layouts, told apart by the magic number:

========  ==========================  =======================  ===================================================
layout    magic number                bitmap                   length in the index manifest
========  ==========================  =======================  ===================================================
32 bits   1581511376, big-endian      32-bit portable format   of magic number and bitmap
64 bits   1681511377, little-endian   64-bit portable format   of all: length, magic number, bitmap and checksum
========  ==========================  =======================  ===================================================
"""

from __future__ import annotations

import array
import zlib
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap, BitMap64

from paimon_sql.errors import CorruptFileError
from paimon_sql.format.bytes.bounded import MAX_DELETED_ROWS, check_range, decoding
from paimon_sql.format.metadata.index_manifest import DeletionVectorRange

_FILE_VERSION = b"\x01"
_INT = 4
_MAGIC_32 = (1581511376).to_bytes(_INT, "big")
_MAGIC_64 = (1681511377).to_bytes(_INT, "little")
_MAX_POSITION_32 = 2**31 - 1
_MAX_POSITION_64 = 2**63 - 1


class DeletionVector:
    """The positions of the deleted rows of one data file; the first row is 0."""

    __slots__ = ("positions",)

    positions: npt.NDArray[np.int64]
    """The positions, ascending, each once."""

    def __init__(self, positions: npt.ArrayLike = ()) -> None:
        """Take positions in any order.

        Raises:
            ValueError: a position is negative.
        """
        given = np.asarray(positions, np.int64)
        if not np.all(given[1:] > given[:-1]):
            given = np.sort(given)
            given = given[np.r_[True, given[1:] > given[:-1]]]
        self.positions = given
        if len(self.positions) and self.positions[0] < 0:
            raise ValueError(f"row {self.positions[0]} cannot be deleted: the first row of a file is 0")

    @property
    def cardinality(self) -> int:
        """How many rows are deleted."""
        return len(self.positions)

    def mask(self, num_rows: int, first_row: int = 0) -> npt.NDArray[np.bool_]:
        """Which rows live: an array for ``num_rows`` rows from ``first_row`` on, False where the row is deleted."""
        low, high = np.searchsorted(self.positions, (first_row, first_row + num_rows))
        alive = np.ones(num_rows, np.bool_)
        alive[self.positions[low:high] - first_row] = False
        return alive

    def __or__(self, other: DeletionVector) -> DeletionVector:
        """The rows that are deleted in one or the other."""
        return DeletionVector(np.concatenate([self.positions, other.positions]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeletionVector) and np.array_equal(self.positions, other.positions)

    def __hash__(self) -> int:
        return hash(self.positions.tobytes())

    def __repr__(self) -> str:
        return f"DeletionVector({self.cardinality} rows)"


def is_iceberg_layout(head: bytes) -> bool:
    """Whether the vector that begins with these bytes is laid out as Iceberg's are: the layout of 64 bits."""
    return head[_INT : 2 * _INT] == _MAGIC_64


def read_deletion_vectors(data: bytes, path: str, ranges: Iterable[DeletionVectorRange]) -> dict[str, DeletionVector]:
    """The deletion vectors of an index file by the name of their data file.

    Args:
        data: the whole index file.
        path: the file's path, named in errors.
        ranges: the vectors wanted, as the index manifest lists them.

    Raises:
        CorruptFileError: the file has an unknown version, or a vector is not where and what its range says.
    """
    if data[:1] != _FILE_VERSION:
        version = data[0] if data else "none"
        raise CorruptFileError(f"deletion vector file of version {version}, and only 1 can be read", path=path)
    found = {}
    for r in ranges:
        with decoding("a file of deletion vectors", path):
            check_range(r.offset, 0, len(data), f"the deletion vector of {r.data_file_name}")
        found[r.data_file_name] = read_deletion_vector(data[r.offset :], path, r)
    return found


def read_deletion_vector(data: bytes, path: str, stated: DeletionVectorRange) -> DeletionVector:
    """One deletion vector.

    Args:
        data: the bytes of the index file from the vector's offset on; ``stated.length + 8`` of them are enough.
        path: the index file's path, named in errors.
        stated: what the index manifest says about the vector.

    Raises:
        CorruptFileError: length, magic number, checksum, bitmap or number of rows are not as they must be, or it
            deletes more rows than `MAX_DELETED_ROWS`.
    """

    def fail(defect: str) -> CorruptFileError:
        whose = f"the deletion vector of {stated.data_file_name} at byte {stated.offset}"
        return CorruptFileError(f"{whose} {defect}", path=path)

    size = int.from_bytes(data[:_INT], "big", signed=True)
    end = _INT + size
    if size < _INT or len(data) < end + _INT:
        raise fail("is cut off")
    body, checksum = data[_INT:end], data[end : end + _INT]
    magic = body[:_INT]
    if magic not in (_MAGIC_32, _MAGIC_64):
        raise fail(f"has the unknown magic number {magic.hex()}")
    length = size if magic == _MAGIC_32 else size + 2 * _INT
    if length != stated.length:
        raise fail(f"is {length} bytes long, and {stated.length} by the index manifest")
    if zlib.crc32(body).to_bytes(_INT, "big") != checksum:
        raise fail("does not match its checksum")
    kind, greatest = (BitMap, _MAX_POSITION_32) if magic == _MAGIC_32 else (BitMap64, _MAX_POSITION_64)
    try:
        bitmap = kind.deserialize(body[_INT:])
    except (ValueError, IndexError, OverflowError, MemoryError, RuntimeError) as error:
        raise fail(f"holds no bitmap: {error}") from error
    if len(bitmap) > MAX_DELETED_ROWS:
        raise fail(f"deletes {len(bitmap)} rows, and one can delete {MAX_DELETED_ROWS}")
    if stated.cardinality is not None and len(bitmap) != stated.cardinality:
        raise fail(f"deletes {len(bitmap)} rows, and {stated.cardinality} by the index manifest")
    if bitmap and bitmap.max() > greatest:
        raise fail(f"deletes row {bitmap.max()}, which no file has")
    return DeletionVector(np.asarray(bitmap.to_array()))


def write_deletion_vectors(
    vectors: Mapping[str, DeletionVector], *, bitmap64: bool = False
) -> tuple[bytes, tuple[DeletionVectorRange, ...]]:
    """An index file of deletion vectors, and what the index manifest says about them.

    Args:
        vectors: the vectors by the name of their data file; without any the file holds its version only.
        bitmap64: whether to write the 64-bit layout, as the option ``deletion-vectors.bitmap64`` asks.

    Raises:
        ValueError: a position is too great for the 32-bit layout.
    """
    (file,) = files_of_deletion_vectors(vectors, bitmap64=bitmap64)
    return file


def files_of_deletion_vectors(
    vectors: Mapping[str, DeletionVector], *, bitmap64: bool = False, target: int | None = None
) -> Iterator[tuple[bytes, tuple[DeletionVectorRange, ...]]]:
    """Index files of deletion vectors, at least one, each as `write_deletion_vectors` gives it.

    Args:
        vectors: the vectors by the name of their data file.
        bitmap64: as of `write_deletion_vectors`.
        target: behind how many bytes another file is begun; None for one file.

    Raises:
        ValueError: a position is too great for the 32-bit layout.
    """
    out = bytearray(_FILE_VERSION)
    ranges: list[DeletionVectorRange] = []
    for name, vector in vectors.items():
        if target is not None and ranges and len(out) > target:
            yield bytes(out), tuple(ranges)
            out, ranges = bytearray(_FILE_VERSION), []
        body = _body(vector, bitmap64)
        length = len(body) + (2 * _INT if bitmap64 else 0)
        ranges.append(DeletionVectorRange(name, len(out), length, vector.cardinality))
        out += len(body).to_bytes(_INT, "big") + body + zlib.crc32(body).to_bytes(_INT, "big")
    yield bytes(out), tuple(ranges)


def _body(vector: DeletionVector, bitmap64: bool) -> bytes:
    positions = vector.positions
    bitmap: BitMap | BitMap64
    if bitmap64:
        bitmap, magic = BitMap64(array.array("Q", positions.astype(np.uint64).tobytes())), _MAGIC_64
    elif vector.cardinality and positions[-1] > _MAX_POSITION_32:
        raise ValueError(f"row {positions[-1]} is beyond the 32-bit deletion vectors: set deletion-vectors.bitmap64")
    else:
        bitmap, magic = BitMap(array.array("I", positions.astype(np.uint32).tobytes())), _MAGIC_32
    bitmap.run_optimize()
    return magic + bytes(bitmap.serialize())
