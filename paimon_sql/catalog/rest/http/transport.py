"""Transport of requests to a REST catalog: pooled connections, limits of time and size."""

from __future__ import annotations

import http.client
import re
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool, PoolManager, ProxyManager, Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from paimon_sql.cache import Cache
from paimon_sql.errors import InvalidOptionError
from paimon_sql.process import share
from paimon_sql.storage.file_io.external.http import TimedReading

_TIMEOUT = Timeout(connect=30, read=180)
_MOST_SECONDS = 600.0
"""The max seconds of a response from its first byte to its last; a silent server hits the read timeout earlier."""
_MOST_BYTES = 64 * 1024 * 1024
_PIECE = 1024 * 1024
_MAX_POOLS = 64


class OversizedAnswerError(HTTPError):
    """A response that is larger than the limit, or compressed so that its size is unknown."""


def request(
    address: str, pool_size: int, method: str, url: str, body: bytes | None, headers: dict[str, str]
) -> tuple[BaseHTTPResponse, bytes]:
    """Send a request, and return the response and its body; redirects are not followed.

    Args:
        address: the server's address.
        pool_size: the max number of pooled connections.
        method: the method.
        url: the URL.
        body: the body.
        headers: the headers.

    Raises:
        HTTPError: the server is unreachable, or the response is too slow or too large.
    """
    response = _pool(address, pool_size).request(
        method, url, body=body, headers=headers, timeout=_TIMEOUT, retries=False, redirect=False, preload_content=False
    )
    try:
        data = _read(response)
    except BaseException:
        response.close()
        raise
    response.release_conn()
    return response, data


def _read(response: BaseHTTPResponse) -> bytes:
    # Compression was not requested: compressed content could expand to any number of bytes.
    if response.headers.get("Content-Encoding", "identity") not in ("", "identity"):
        raise OversizedAnswerError("the response is compressed, although compression was not requested")
    body = bytearray()
    while data := response.read(_PIECE, decode_content=False):
        body += data
        if len(body) > _MOST_BYTES:
            raise OversizedAnswerError(f"the response has more than {_MOST_BYTES} bytes")
    return bytes(body)


class _Answer(http.client.HTTPResponse):
    """A response with a deadline for status, headers and body together."""

    def __init__(
        self,
        connected: socket.socket,
        debuglevel: int = 0,
        method: str | None = None,
        url: str | None = None,
        *,
        seconds: float,
    ) -> None:
        reading = TimedReading(connected, time.monotonic() + seconds)
        super().__init__(reading, debuglevel, method, url)  # type: ignore[arg-type]


class _Connection(HTTPConnection):
    response_class = partial(_Answer, seconds=_MOST_SECONDS)  # type: ignore[assignment]


class _SecureConnection(HTTPSConnection):
    response_class = partial(_Answer, seconds=_MOST_SECONDS)  # type: ignore[assignment]


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


_pools = share(lambda: Cache[tuple[str, int], PoolManager](_MAX_POOLS, leave=PoolManager.clear))


def _pool(address: str, pool_size: int) -> PoolManager:
    """The connection pool of a server; a connection may carry requests of several users."""
    return _pools().compute((address, pool_size), lambda: _create(address, pool_size))


def _create(address: str, pool_size: int) -> PoolManager:
    parts = urlsplit(address)
    proxy = getproxies().get(parts.scheme)
    if proxy and not proxy_bypass(parts.netloc):
        manager: PoolManager = ProxyManager(proxy if "://" in proxy else f"http://{proxy}", maxsize=pool_size)
    else:
        manager = PoolManager(maxsize=pool_size)
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
    return manager


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
            f"Catalog {catalog}: '{key}' is not a valid header name.",
            key=key,
            remedy="Use letters, digits and symbols.",
        )
    if not fits_header(value):
        raise InvalidOptionError(
            f"Catalog {catalog}: the value of '{key}' is not a valid header value.",
            key=key,
            remedy="Use one line of Latin letters, digits and symbols.",
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
