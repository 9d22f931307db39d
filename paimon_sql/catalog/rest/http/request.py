"""A request, as input of its signature."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_sql.errors import InvalidOptionError

JSON = "application/json"
"""The content type of requests and responses."""

_IN_HEADER = re.compile(r"[\x20-\x7e\xa0-\xff]*")
_HEADER_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)


def fits_header(text: str) -> bool:
    """Whether a string is valid as the value of a header."""
    return _IN_HEADER.fullmatch(text) is not None


def check_header(catalog: str, key: str, value: str, name: str = "Authorization") -> None:
    """Raise InvalidOptionError unless the name and value of a header, set by an option of a catalog, are valid."""
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
    """A request to a server.

    Attributes:
        method: ``GET``, ``POST`` or ``DELETE``.
        host: the server, with the port if its address has one.
        path: the encoded path from ``/v1`` on.
        query: the query parameters, not encoded.
        body: the JSON of the body; None for none.
    """

    method: str
    host: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
