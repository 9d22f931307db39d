"""Hash index files of dynamic buckets: the hashes of a bucket's keys (spec: Table Index)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from paimon_sql.errors import CorruptFileError

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
        raise CorruptFileError(f"a hash index of {len(data)} bytes is no sequence of 32-bit integers", path=path)
    return np.frombuffer(data, _STORED).astype(np.int32)


def write_hash_index(hashes: npt.NDArray[np.int32]) -> bytes:
    """Encode key hashes as a hash index file."""
    return hashes.astype(_STORED).tobytes()
