"""Contents of index files: deletion vectors and hash indexes (spec: Table Index)."""

from __future__ import annotations

import array
import zlib
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap, BitMap64

from paimon_sql.errors import CorruptFileError
from paimon_sql.format.bytes.bounded import MAX_DELETED_ROWS
from paimon_sql.format.metadata.index_manifest import DeletionVectorRange

_FILE_VERSION = b"\x01"
_INT = 4
_MAGIC_32 = (1581511376).to_bytes(_INT, "big")
_MAGIC_64 = (1681511377).to_bytes(_INT, "little")
_MAX_POSITION_32 = 2**31 - 1
_MAX_POSITION_64 = 2**63 - 1


class DeletionVector:
    """The positions of the deleted rows of one data file; the first row is 0 (Paimon: `DeletionVector`)."""

    __slots__ = ("positions",)

    positions: npt.NDArray[np.int64]
    """The positions, ascending and distinct."""

    def __init__(self, positions: npt.ArrayLike = ()) -> None:
        """Create a vector of positions, which may be unsorted and repeated.

        Raises:
            ValueError: a position is negative.
        """
        distinct = np.asarray(positions, np.int64)
        if not np.all(distinct[1:] > distinct[:-1]):
            distinct = np.sort(distinct)
            distinct = distinct[np.r_[True, distinct[1:] > distinct[:-1]]]
        self.positions = distinct
        if len(self.positions) and self.positions[0] < 0:
            raise ValueError(f"row {self.positions[0]} cannot be deleted: the first row of a file is 0")

    @property
    def cardinality(self) -> int:
        """The number of deleted rows."""
        return len(self.positions)

    def mask(self, num_rows: int, first_row: int = 0) -> npt.NDArray[np.bool_]:
        """The mask of ``num_rows`` rows from ``first_row`` on: False for a deleted row."""
        low, high = np.searchsorted(self.positions, (first_row, first_row + num_rows))
        alive = np.ones(num_rows, np.bool_)
        alive[self.positions[low:high] - first_row] = False
        return alive

    def __or__(self, other: DeletionVector) -> DeletionVector:
        """The union of two vectors."""
        return DeletionVector(np.concatenate([self.positions, other.positions]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeletionVector) and np.array_equal(self.positions, other.positions)

    def __hash__(self) -> int:
        return hash(self.positions.tobytes())

    def __repr__(self) -> str:
        return f"DeletionVector({self.cardinality} rows)"


def is_iceberg_layout(head: bytes) -> bool:
    """Whether the vector that begins with ``head`` has the 64-bit layout, which is that of Iceberg."""
    return head[_INT : 2 * _INT] == _MAGIC_64


def read_deletion_vector(data: bytes, path: str, recorded: DeletionVectorRange) -> DeletionVector:
    """Decode one deletion vector.

    Args:
        data: the bytes of the index file from the vector's offset on; ``recorded.length + 8`` are enough.
        path: the index file's path, for error messages.
        recorded: the vector's range in the index manifest.

    Raises:
        CorruptFileError: length, magic number, checksum, bitmap or number of rows are invalid, or it deletes more rows
            than `MAX_DELETED_ROWS`.
    """

    def fail(defect: str) -> CorruptFileError:
        whose = f"the deletion vector of {recorded.data_file_name} at byte {recorded.offset}"
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
    if length != recorded.length:
        raise fail(f"is {length} bytes long, but {recorded.length} according to the index manifest")
    if zlib.crc32(body).to_bytes(_INT, "big") != checksum:
        raise fail("does not match its checksum")
    kind, max_position = (BitMap, _MAX_POSITION_32) if magic == _MAGIC_32 else (BitMap64, _MAX_POSITION_64)
    try:
        bitmap = kind.deserialize(body[_INT:])
    except (ValueError, IndexError, OverflowError, MemoryError, RuntimeError) as error:
        raise fail(f"is not a bitmap: {error}") from error
    if len(bitmap) > MAX_DELETED_ROWS:
        raise fail(f"deletes {len(bitmap)} rows, but can delete at most {MAX_DELETED_ROWS}")
    if recorded.cardinality is not None and len(bitmap) != recorded.cardinality:
        raise fail(f"deletes {len(bitmap)} rows, but {recorded.cardinality} according to the index manifest")
    if bitmap and bitmap.max() > max_position:
        raise fail(f"deletes row {bitmap.max()}, which no file has")
    return DeletionVector(np.asarray(bitmap.to_array()))


def files_of_deletion_vectors(
    vectors: Mapping[str, DeletionVector], *, bitmap64: bool = False, target: int | None = None
) -> Iterator[tuple[bytes, tuple[DeletionVectorRange, ...]]]:
    """Encode deletion vectors as one or more index files, each with its vectors' ranges for the index manifest.

    An index file is a version byte followed by vectors, whose offsets are in the index manifest. A vector is a length,
    a magic number, a roaring bitmap of row positions and a CRC-32 of the last two; length and checksum are big-endian.
    The magic number distinguishes two layouts:

    ========  ==========================  =======================  ===================================================
    layout    magic number                bitmap                   length in the index manifest
    ========  ==========================  =======================  ===================================================
    32 bits   1581511376, big-endian      32-bit portable format   of magic number and bitmap
    64 bits   1681511377, little-endian   64-bit portable format   of all: length, magic number, bitmap and checksum
    ========  ==========================  =======================  ===================================================

    Args:
        vectors: the vectors by the name of their data file; without vectors the file is only its version.
        bitmap64: whether to write the 64-bit layout (``deletion-vectors.bitmap64``).
        target: the size in bytes after which a new file begins; None for one file.

    Raises:
        ValueError: a position is too large for the 32-bit layout.
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
        raise ValueError(f"row {positions[-1]} exceeds 32-bit deletion vectors: set deletion-vectors.bitmap64")
    else:
        bitmap, magic = BitMap(array.array("I", positions.astype(np.uint32).tobytes())), _MAGIC_32
    bitmap.run_optimize()
    return magic + bytes(bitmap.serialize())


_STORED = np.dtype(">i4")


def read_hash_index(data: bytes, path: str) -> npt.NDArray[np.int32]:
    """Decode the key hashes of a bucket.

    Args:
        data: the file: one big-endian 32-bit integer per key.
        path: the file's path, for error messages.

    Raises:
        CorruptFileError: the file ends inside a hash.
    """
    if len(data) % _STORED.itemsize:
        raise CorruptFileError(f"a hash index of {len(data)} bytes is not a sequence of 32-bit integers", path=path)
    return np.frombuffer(data, _STORED).astype(np.int32)


def write_hash_index(hashes: npt.NDArray[np.int32]) -> bytes:
    """Encode key hashes as a hash index file (Paimon: `HashIndexFile`)."""
    return hashes.astype(_STORED).tobytes()
