"""Names that metadata give to files: each must stay inside the folder that it is put behind.

A name is a single part of a path. A path elsewhere (``_EXTERNAL_PATH``) is absolute and goes straight down; whether its
table may use that place is decided where the table's options are known.
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
_SHORTEST = 3
"""Shorter names are looked at one by one: they may be ``.`` or ``..``."""
_SHOWN = 200


def is_file_name(text: str) -> bool:
    """Whether a text names a file in a folder: not empty, ``.`` or ``..``, no separators and no control characters."""
    return _NAME.search(text) is None


def is_straight_path(text: str) -> bool:
    """Whether a text is an absolute path or a URI that names no folder above another."""
    return _PATH.search(text) is None and _ROOTED.search(text) is not None


def inside(folder: str, name: str) -> str:
    """The path of a file in a folder.

    Raises:
        UnsafePathError: the name is no file name.
    """
    if _NAME.search(name):
        raise unsafe_name(name, "a file", folder)
    return f"{folder}/{name}"


def straight(path: str) -> str:
    """A file's path elsewhere, as it is.

    Raises:
        UnsafePathError: it is relative, or leads upwards.
    """
    if not is_straight_path(path):
        raise unsafe_path(path, "a file", "metadata")
    return path


def check_file_names(names: pa.Array | pa.ChunkedArray, what: str, path: str) -> None:
    """Nothing if all texts of a column are names of files; nulls are.

    Args:
        names: the names.
        what: what they name, for the error.
        path: the file that holds them.

    Raises:
        UnsafePathError: one is none.
    """
    for chunk in _chunks(names):
        if _is_suspicious(chunk):
            unsafe = chunk.filter(pc.match_substring_regex(chunk, _UNSAFE_NAME))
            if len(unsafe):
                raise unsafe_name(unsafe[0].as_py(), what, path)


def check_straight_paths(paths: pa.Array | pa.ChunkedArray, what: str, path: str) -> None:
    """Nothing if all texts of a column are absolute paths that lead nowhere upwards; nulls are.

    Raises:
        UnsafePathError: one is none; the arguments are those of `check_file_names`.
    """
    for chunk in _chunks(paths):
        safe = pc.and_not(pc.match_substring_regex(chunk, _ABSOLUTE), pc.match_substring_regex(chunk, _UNSAFE_PATH))
        unsafe = chunk.filter(pc.invert(safe))
        if len(unsafe):
            raise unsafe_path(unsafe[0].as_py(), what, path)


def unsafe_name(name: str, what: str, path: str) -> UnsafePathError:
    """The error of a name that could lead out of its folder."""
    return UnsafePathError(f"it names {what} {_shown(name)}, which is no file name", path=path)


def unsafe_path(named: str, what: str, path: str) -> UnsafePathError:
    """The error of a path that is not absolute or leads upwards."""
    return UnsafePathError(f"it names {what} {_shown(named)}, which is no absolute path", path=path)


def _shown(name: str) -> str:
    return ascii(name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…")


def _chunks(texts: pa.Array | pa.ChunkedArray) -> Iterator[pa.Array]:
    for chunk in texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]:
        if chunk.null_count < len(chunk):
            yield chunk.drop_null() if chunk.null_count else chunk


def _is_suspicious(names: pa.Array) -> bool:
    """Whether any of some names holds a byte that none should, or is very short; these are looked at as texts."""
    data, offsets = binary_buffers(names)
    letters = data[offsets[0] : offsets[-1]]
    if np.diff(offsets).min(initial=_SHORTEST) < _SHORTEST or not len(letters):
        return True
    held = letters.tobytes()
    return letters.min() < 0x20 or b"/" in held or b"\\" in held or b"\x7f" in held
