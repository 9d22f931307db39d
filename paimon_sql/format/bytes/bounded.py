"""Bounded reading: what foreign bytes declare is compared with a limit before memory is taken for it.

A decoder takes the sizes it works with from the file that it reads, and anybody may have written that file. Each size,
count and depth is therefore checked against the bytes that are really there or, where a compression or a run length
stands between the two, against one of the limits below. The limits are far above what writers of Paimon produce.
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
"""The most bytes of a metadata file that is read as a whole."""
MAX_JSON_BYTES = 64 << 20
"""The most bytes of a JSON document, such as a snapshot, a schema or the schema inside an Avro file."""
MAX_JSON_DEPTH = 256
"""How deep objects and arrays of a JSON document may be nested."""
MAX_BLOCK_BYTES = 256 << 20
"""The most bytes of one block of a metadata file, uncompressed."""
MAX_EXPANSION = 4096
"""How many times its size a metadata file may have uncompressed, where that is more than `MAX_BLOCK_BYTES`.

Manifests of tables with thousands of columns without statistics reach ratios of that order.
"""
MAX_EXPANDED_BYTES = (1 << 31) - 1
"""The most bytes of a metadata file, or of one block of a data file, uncompressed: what Java and Arrow can address."""
MAX_DELETED_ROWS = 1 << 27
"""The most rows that the deletion vector of one data file may delete."""
MAX_FILE_ROWS = (1 << 31) - 1
"""The most rows of a data file that are addressed by their positions, as Java's ``int``."""
MAX_BLOB_ROWS = 1 << 27
"""The most rows of a group of data files whose blobs stand in files of their own."""
MAX_INDEXED_ROWS = 1 << 36
"""The most row ids that one search in global indexes tells apart."""

Read: TypeAlias = Callable[[int, int], bytes]
"""Reads a range of a file: its first byte, and its length."""


class BoundsError(ValueError):
    """Bytes declare more than there is, or more than a limit allows."""


def expansion_limit(size: int) -> int:
    """The most bytes that a metadata file of ``size`` bytes may have uncompressed."""
    return min(MAX_EXPANDED_BYTES, max(MAX_BLOCK_BYTES, size * MAX_EXPANSION))


def check_range(start: int, length: int, size: int, what: str) -> None:
    """Nothing if a range lies within ``size`` bytes.

    Raises:
        BoundsError: it does not; ``what`` names it.
    """
    if start < 0 or length < 0 or start + length > size:
        raise BoundsError(f"{what} takes {length} bytes from byte {start} on, and there are {size}")


def check_count(count: int, most: int, what: str) -> None:
    """Nothing if a count is neither negative nor above the greatest possible one.

    Raises:
        BoundsError: it is; ``what`` names what is counted.
    """
    if not 0 <= count <= most:
        raise BoundsError(f"{count} {what} are declared, and there can be {most} at most")


def check_total(sizes: npt.NDArray[np.int64], most: int, what: str) -> None:
    """Nothing if sizes are not negative and take ``most`` bytes together at most; their sum may be beyond 64 bits.

    Raises:
        BoundsError: they do not; ``what`` names them.
    """
    # A sum of doubles is exact enough to tell whether the one of whole numbers overflows.
    if len(sizes) and (sizes.min() < 0 or sizes.sum(dtype=np.float64) >= 2.0**62 or int(sizes.sum()) > most):
        raise BoundsError(f"{what} take more than the {most} bytes that there are")


def within(read: Read, size: int) -> Read:
    """A reader of a file of ``size`` bytes that never asks for more than there is.

    Where a range reaches beyond the end, what is left comes back, as from a file; nothing where it begins outside.
    """

    def bounded(start: int, length: int) -> bytes:
        taken = min(length, size - start)
        return read(start, taken) if start >= 0 and taken > 0 else b""

    return bounded


def exactly(read: Read, size: int, what: str) -> Read:
    """A reader of a file of ``size`` bytes that refuses ranges which do not lie within it.

    Raises:
        BoundsError: (of the reader) a range lies outside, or the file has become shorter.
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
    """Turn what a decoder raises inside into a CorruptFileError: given garbage, it fails in many ways.

    Args:
        what: completes "not", such as "a manifest".
        path: the file, named in the error.
        remedy: what to do about it; to restore the file by default.

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
    """The value of a JSON document; ``options`` are those of `json.loads`.

    Raises:
        ValueError: it is none, or larger or more deeply nested than a limit allows.
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
