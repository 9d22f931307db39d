"""Validation of names that become parts of file names: tags, branches and consumers."""

from __future__ import annotations

import re

from paimon_sql.errors import InvalidInputError

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
            remedy="A name must not be blank, nor hold a slash, backslash or control character.",
        )
    length = len(name.encode("utf-8", "surrogatepass"))
    if length > longest:
        raise InvalidInputError(
            f"'{name[:20]}…' cannot be the name of a {kind}: it has {length} bytes.",
            remedy=f"A name has {longest} bytes at most.",
        )
    return name
