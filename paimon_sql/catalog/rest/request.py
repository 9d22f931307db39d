"""A request as those see it who sign it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

JSON = "application/json"
"""What bodies of requests and answers are."""


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
