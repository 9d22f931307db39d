"""Paths as strings, independent of the file system, and checked names that become parts of file names.

A path is plain (``/warehouse/db.db/t``, ``C:/warehouse``) or starts with a scheme (``s3://bucket/warehouse``,
``file:/warehouse``). Parts are joined by ``/``; a path never ends with one.
"""

from __future__ import annotations

import os
import re
import uuid

from paimon_sql.errors import InvalidInputError

S3_SCHEMES = ("s3", "s3a", "s3n")
"""The schemes of Amazon S3 and compatible stores."""

_SLASHES = re.compile("/+")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):(?=/)")
"""A single letter is a drive of Windows."""
_DRIVE = re.compile(r"/?([A-Za-z]:(?=[/\\]|$))")


def scheme_of(path: str) -> str:
    """Return the path's scheme in lower case; ``file`` for a path without one."""
    match = _SCHEME.match(path)
    return match[1].lower() if match else "file"


def without_scheme(path: str) -> tuple[str, str]:
    """Return the authority (host or bucket) and the path after it, which starts with ``/``; either may be empty."""
    match = _SCHEME.match(path)
    rest = path[match.end() :] if match else path
    if match is None or not rest.startswith("//"):
        return "", rest
    authority, _, tail = rest[2:].partition("/")
    return authority, f"/{tail}" if tail else ""


def has_drive(path: str) -> bool:
    """Whether a path begins with a drive of Windows, such as ``C:/warehouse``."""
    return _DRIVE.match(path) is not None and not path.startswith("/")


def local_path(path: str, *, with_drives: bool = os.name == "nt") -> str:
    """Return a path of the local file system without its scheme.

    Args:
        path: the path.
        with_drives: whether ``/C:/warehouse``, as in ``file:///C:/warehouse``, is on the drive ``C:``.
    """
    rest = without_scheme(path)[1] or "/"
    return _DRIVE.sub(r"\1", rest, count=1) if with_drives else rest


def store_of(path: str) -> tuple[str, str]:
    """Return the path's scheme and authority, which identify its file system."""
    return scheme_of(path), without_scheme(path)[0]


def under_scheme(path: str, scheme: str) -> str:
    """Return a path with its scheme replaced."""
    return scheme + path[len(scheme_of(path)) :]


def spellings(path: str) -> tuple[str, ...]:
    """Return the path under each scheme of the same store."""
    return tuple(under_scheme(path, s) for s in S3_SCHEMES) if scheme_of(path) in S3_SCHEMES else (path,)


def join(parent: str, *names: str) -> str:
    """Return the path of a descendant of ``parent``."""
    return "/".join([parent.rstrip("/"), *(n.strip("/") for n in names)])


def name_of(path: str) -> str:
    """Return the last part of the path."""
    return path.rstrip("/").rpartition("/")[2]


def parent_of(path: str) -> str:
    """Return the path of the parent directory."""
    return path.rstrip("/").rpartition("/")[0]


def is_under(path: str, directory: str) -> bool:
    """Whether a path is below a directory; equivalent schemes and repeated slashes count as equal.

    Neither may contain ``..``.
    """
    return _canonical(path).startswith(f"{_canonical(directory)}/")


def _canonical(path: str) -> str:
    scheme, (authority, rest) = scheme_of(path), without_scheme(path)
    store = S3_SCHEMES[0] if scheme in S3_SCHEMES else scheme
    return f"{store}://{authority}{_SLASHES.sub('/', rest).rstrip('/')}"


def temporary_sibling(path: str) -> str:
    """Return a new hidden name beside ``path``: ``.name.uuid.tmp``, which every reader ignores."""
    return join(parent_of(path), f".{name_of(path)}.{uuid.uuid4()}.tmp")


_FORBIDDEN = re.compile(r"[/\\\x00-\x1f]")
_MAX_NAME_BYTES = 200
"""Maximum bytes of a name: file systems allow 255, including prefixes and suffixes of temporary files."""


def check_file_name(name: str, kind: str, longest: int = _MAX_NAME_BYTES) -> str:
    """Return the name if it is valid as a part of a file's name.

    Args:
        name: the name.
        kind: the kind of object, for the error.
        longest: maximum bytes.

    Raises:
        InvalidInputError: it is blank, too long, or has a slash, a backslash or a control character.
    """
    if not name.strip() or _FORBIDDEN.search(name):
        raise InvalidInputError(
            f"{name!r} cannot be the name of a {kind}.",
            remedy="A name must not be blank, nor contain a slash, backslash or control character.",
        )
    length = len(name.encode("utf-8", "surrogatepass"))
    if length > longest:
        raise InvalidInputError(
            f"'{name[:20]}…' cannot be the name of a {kind}: it has {length} bytes.",
            remedy=f"A name has {longest} bytes at most.",
        )
    return name
