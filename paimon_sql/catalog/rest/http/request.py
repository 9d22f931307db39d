"""A request as those see it who sign it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_sql.errors import InvalidOptionError

JSON = "application/json"
"""What bodies of requests and answers are."""

_IN_HEADER = re.compile(r"[\x20-\x7e\xa0-\xff]*")
_HEADER_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)


def fits_header(text: str) -> bool:
    """Whether a header can say so."""
    return _IN_HEADER.fullmatch(text) is not None


def check_header(catalog: str, key: str, value: str, name: str = "Authorization") -> None:
    """Raise InvalidOptionError unless a header of that name can say what an option of a catalog says."""
    if not _HEADER_NAME.fullmatch(name):
        raise InvalidOptionError(
            f"Catalog {catalog}: '{key}' names no header.",
            key=key,
            remedy="A header's name is made of letters, digits and signs.",
        )
    if not fits_header(value):
        raise InvalidOptionError(
            f"Catalog {catalog}: what '{key}' says cannot stand in a header.",
            key=key,
            remedy="It is one line of Latin letters, digits and signs.",
        )


@dataclass(frozen=True)
class Request:
    """What is asked of a server.

    Attributes:
        method: ``GET``, ``POST`` or ``DELETE``.
        host: the server, with the port if its address says one.
        path: the path from ``/v1`` on, as it is sent.
        query: what stands behind its ``?``, not yet encoded.
        body: the JSON that is sent; None for none.
    """

    method: str
    host: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
