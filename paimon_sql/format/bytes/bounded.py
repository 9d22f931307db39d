"""Bounded decoding: sizes that untrusted bytes declare are checked against limits before memory is allocated.

A decoder takes sizes from the file that it reads, which any program may have written. So each size, count and depth is
checked against the actual number of bytes or, where compression or run lengths hide it, against one of the limits
below. The limits are far above the files of Paimon's writers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from paimon_sql.errors import CorruptFileError, InvalidInputError, PaimonError

MAX_FILE_BYTES = 1 << 30
"""Max bytes of a metadata file that is read into memory."""
MAX_JSON_BYTES = 64 << 20
"""Max bytes of a JSON document, such as a snapshot, a schema or the schema of an Avro file."""
MAX_JSON_DEPTH = 256
"""Max nesting of objects and arrays of a JSON document."""
MAX_BLOCK_BYTES = 256 << 20
"""Max bytes of one block of a metadata file, uncompressed."""
MAX_EXPANSION = 4096
"""Max compression ratio of a metadata file that has more than `MAX_BLOCK_BYTES` uncompressed.

Manifests of tables with thousands of columns without statistics reach such ratios.
"""
MAX_EXPANDED_BYTES = (1 << 31) - 1
"""Max bytes of a metadata file, or of one block of a data file, uncompressed: what Java and Arrow can address."""
MAX_DELETED_ROWS = 1 << 27
"""Max rows that the deletion vector of one data file deletes."""
MAX_FILE_ROWS = (1 << 31) - 1
"""Max rows of a data file whose rows are addressed by position, which is an ``int`` in Java."""
MAX_BLOB_ROWS = 1 << 27
"""Max rows of a group of data files whose blobs are stored in separate files."""
MAX_INDEXED_ROWS = 1 << 36
"""Max row ids of one search in global indexes."""

Read: TypeAlias = Callable[[int, int], bytes]
"""Reads a range of a file, given its first byte and its length."""


class BoundsError(ValueError):
    """Bytes declare more than there are, or more than a limit allows."""


def expansion_limit(size: int) -> int:
    """Max uncompressed bytes of a metadata file of ``size`` bytes."""
    return min(MAX_EXPANDED_BYTES, max(MAX_BLOCK_BYTES, size * MAX_EXPANSION))


def check_range(start: int, length: int, size: int, what: str) -> None:
    """Check that a range lies within ``size`` bytes; ``what`` names it in the error.

    Raises:
        BoundsError: it does not.
    """
    if start < 0 or length < 0 or start + length > size:
        raise BoundsError(f"{what} takes {length} bytes from byte {start} on, and there are {size}")


def check_count(count: int, maximum: int, what: str) -> None:
    """Check that a count is neither negative nor above ``maximum``; ``what`` names the counted things in the error.

    Raises:
        BoundsError: it is.
    """
    if not 0 <= count <= maximum:
        raise BoundsError(f"{count} {what} are declared, and there can be {maximum} at most")


def check_total(sizes: npt.NDArray[np.int64], maximum: int, what: str) -> None:
    """Check that no size is negative and that their sum, which may exceed 64 bits, is at most ``maximum``.

    Raises:
        BoundsError: a size is negative, or the sum is larger; ``what`` names them.
    """
    # A sum of doubles is exact enough to detect an overflow of the sum of integers.
    if len(sizes) and (sizes.min() < 0 or sizes.sum(dtype=np.float64) >= 2.0**62 or int(sizes.sum()) > maximum):
        raise BoundsError(f"{what} take more than the {maximum} bytes that there are")


def within(read: Read, size: int) -> Read:
    """Limit a reader to a file of ``size`` bytes, as if by reading past the end of a file.

    A range that exceeds the end is truncated; one that begins outside is empty.
    """

    def bounded(start: int, length: int) -> bytes:
        taken = min(length, size - start)
        return read(start, taken) if start >= 0 and taken > 0 else b""

    return bounded


def exactly(read: Read, size: int, what: str) -> Read:
    """Limit a reader to a file of ``size`` bytes; it raises for other ranges.

    Raises:
        BoundsError: (by the reader) a range exceeds the file, or the file is shorter now.
    """

    def bounded(start: int, length: int) -> bytes:
        check_range(start, length, size, what)
        data = read(start, length) if length else b""
        if len(data) < length:
            raise BoundsError(f"{what} is cut off")
        return data

    return bounded


@contextmanager
def decoding(what: str, path: str, remedy: str | None = None) -> Iterator[None]:
    """Convert errors of a decoder, which fails in many ways on invalid bytes, to a CorruptFileError.

    Args:
        what: completes "not", for example "a manifest".
        path: the file, for the error message.
        remedy: what to do; by default, to restore the file.

    Raises:
        CorruptFileError: the decoder failed.
    """
    try:
        yield
    except InvalidInputError as error:
        raise CorruptFileError(f"not {what}: {error.message}", path=path, remedy=remedy) from error
    except (PaimonError, OSError, MemoryError):
        raise
    except KeyError as error:
        raise CorruptFileError(f"not {what}: member {error} is missing", path=path, remedy=remedy) from error
    except RecursionError as error:
        raise CorruptFileError(f"not {what}: it is nested too deeply", path=path, remedy=remedy) from error
    except Exception as error:
        raise CorruptFileError(f"not {what}: {error or type(error).__name__}", path=path, remedy=remedy) from error


def load_json(text: str | bytes, **options: Any) -> Any:
    """Parse a JSON document; ``options`` are those of `json.loads`.

    Raises:
        ValueError: it is not JSON, or larger or more deeply nested than a limit allows.
    """
    if len(text) > MAX_JSON_BYTES:
        raise BoundsError(f"it has {len(text)} bytes, and a JSON document may have {MAX_JSON_BYTES}")
    if not text.strip("\0") if isinstance(text, str) else not text.strip(b"\0"):
        raise ValueError("it holds zeros only" if text else "it is empty")
    try:
        value = json.loads(text, **options)
    except RecursionError:
        raise _too_deep() from None
    brackets = text.count("{") + text.count("[") if isinstance(text, str) else text.count(b"{") + text.count(b"[")
    if brackets <= MAX_JSON_DEPTH:
        return value
    level = [value]
    for _ in range(MAX_JSON_DEPTH + 1):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
            if isinstance(child, dict | list)
        ]
        if not level:
            return value
    raise _too_deep()


def _too_deep() -> BoundsError:
    return BoundsError(f"it is nested more than {MAX_JSON_DEPTH} levels deep")
