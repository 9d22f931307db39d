"""Names that users give to files of a table: tags and consumers."""

from __future__ import annotations

import re

from paimon_sql.errors import InvalidInputError

_FORBIDDEN = re.compile(r"[/\\\x00-\x1f]")
_LONGEST = 200
"""Bytes of a name: file systems take 255, of which prefixes and the names of temporary files need some."""


def check_file_name(name: str, kind: str, longest: int = _LONGEST) -> str:
    """The name itself, if it can be a part of a file's name.

    Args:
        name: what the user called it.
        kind: what it names, for the error.
        longest: how many bytes it may have.

    Raises:
        InvalidInputError: it is blank, too long, or holds a slash, a backslash or a control character.
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
