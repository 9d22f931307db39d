"""Validation of file names and paths in metadata: a file must be inside of its directory.

A name is a single part of a path. An external path (``_EXTERNAL_PATH``) is absolute, without ``.`` and ``..``; whether
the table may use it is checked where the table's options are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import UnsafePathError
from paimon_sql.format.bytes.memory import binary_buffers

_UNSAFE_NAME = r"^\.{0,2}$|[/\\\x00-\x1f\x7f]"
_UNSAFE_PATH = r"(^|/)\.{1,2}(/|$)|[\\\x00-\x1f\x7f]|/$"
_ABSOLUTE = r"^([A-Za-z][A-Za-z0-9+.\-]*:)?/."
_NAME, _PATH, _ROOTED = re.compile(_UNSAFE_NAME), re.compile(_UNSAFE_PATH), re.compile(_ABSOLUTE)
_MIN_LENGTH = 3
"""Shorter names are checked one by one: they may be ``.`` or ``..``."""
_MAX_SHOWN = 200


def is_file_name(text: str) -> bool:
    """Whether a string is a file name: not empty, ``.`` or ``..``, without separators and control characters."""
    return _NAME.search(text) is None


def is_straight_path(text: str) -> bool:
    """Whether a string is an absolute path or URI without ``.``, ``..`` and control characters."""
    return _PATH.search(text) is None and _ROOTED.search(text) is not None


def inside(directory: str, name: str) -> str:
    """The path of a file in a directory.

    Raises:
        UnsafePathError: the name is not a file name.
    """
    if _NAME.search(name):
        raise unsafe_name(name, "a file", directory)
    return f"{directory}/{name}"


def checked_external_path(path: str) -> str:
    """Check an external path and return it unchanged.

    Raises:
        UnsafePathError: it is relative, or has ``.`` or ``..``.
    """
    if not is_straight_path(path):
        raise unsafe_path(path, "a file", "metadata")
    return path


def check_file_names(names: pa.Array | pa.ChunkedArray, what: str, path: str) -> None:
    """Check that all strings of a column are file names, or null.

    Args:
        names: the names.
        what: what they name, for the error message.
        path: the file that contains them.

    Raises:
        UnsafePathError: one is not.
    """
    for chunk in _chunks(names):
        if _is_suspicious(chunk):
            unsafe = chunk.filter(pc.match_substring_regex(chunk, _UNSAFE_NAME))
            if len(unsafe):
                raise unsafe_name(unsafe[0].as_py(), what, path)


def check_straight_paths(paths: pa.Array | pa.ChunkedArray, what: str, path: str) -> None:
    """Check that all strings of a column are absolute paths without ``.`` and ``..``, or null.

    Raises:
        UnsafePathError: one is not; the arguments are those of `check_file_names`.
    """
    for chunk in _chunks(paths):
        safe = pc.and_not(pc.match_substring_regex(chunk, _ABSOLUTE), pc.match_substring_regex(chunk, _UNSAFE_PATH))
        unsafe = chunk.filter(pc.invert(safe))
        if len(unsafe):
            raise unsafe_path(unsafe[0].as_py(), what, path)


def unsafe_name(name: str, what: str, path: str) -> UnsafePathError:
    """The error of a name that could lead out of its directory."""
    return UnsafePathError(f"it names {what} {_shown(name)}, which is no file name", path=path)


def unsafe_path(named: str, what: str, path: str) -> UnsafePathError:
    """The error of a path that is not absolute, or has ``.`` or ``..``."""
    return UnsafePathError(f"it names {what} {_shown(named)}, which is no absolute path", path=path)


def _shown(name: str) -> str:
    return ascii(name if len(name) <= _MAX_SHOWN else f"{name[:_MAX_SHOWN]}…")


def _chunks(column: pa.Array | pa.ChunkedArray) -> Iterator[pa.Array]:
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        if chunk.null_count < len(chunk):
            yield chunk.drop_null() if chunk.null_count else chunk


def _is_suspicious(names: pa.Array) -> bool:
    """Whether a name has an invalid byte or is very short, so that names must be matched one by one."""
    data, offsets = binary_buffers(names)
    letters = data[offsets[0] : offsets[-1]]
    if np.diff(offsets).min(initial=_MIN_LENGTH) < _MIN_LENGTH or not len(letters):
        return True
    raw = letters.tobytes()
    return letters.min() < 0x20 or b"/" in raw or b"\\" in raw or b"\x7f" in raw
