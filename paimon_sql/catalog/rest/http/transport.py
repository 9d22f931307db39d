"""Transport to a REST catalog's server: pooled connections, and responses with limits of time and size."""

from __future__ import annotations

import http.client
import os
import threading
import time
from functools import partial
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool, PoolManager, ProxyManager, Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from paimon_sql.storage.file_io.external.http import TimedReading

_TIMEOUT = Timeout(connect=30, read=180)
_MOST_SECONDS = 600.0
"""The max seconds of a response from its first byte to its last; a silent server hits the read timeout earlier."""
_MOST_BYTES = 64 * 1024 * 1024
_PIECE = 1024 * 1024


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
        raise OversizedAnswerError("the answer is packed, although none was asked to be")
    body = bytearray()
    while data := response.read(_PIECE, decode_content=False):
        body += data
        if len(body) > _MOST_BYTES:
            raise OversizedAnswerError(f"the answer has more than {_MOST_BYTES} bytes")
    return bytes(body)


class _Answer(http.client.HTTPResponse):
    """A response with a deadline for status, headers and body together."""

    def __init__(self, connected: Any, *arguments: Any, seconds: float, **named: Any) -> None:
        super().__init__(TimedReading(connected, time.monotonic() + seconds), *arguments, **named)  # type: ignore[arg-type]


class _Connection(HTTPConnection):
    response_class = partial(_Answer, seconds=_MOST_SECONDS)  # type: ignore[assignment]


class _SecureConnection(HTTPSConnection):
    response_class = partial(_Answer, seconds=_MOST_SECONDS)  # type: ignore[assignment]


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


_pools: dict[tuple[str, int], PoolManager] = {}
_lock = threading.Lock()


def _pool(address: str, pool_size: int) -> PoolManager:
    """The connection pool of a server, shared by threads; a connection may carry requests of several users."""
    key = (address, pool_size)
    found = _pools.get(key)
    if found is not None:
        return found
    with _lock:
        if key not in _pools:
            _pools[key] = _create(address, pool_size)
        return _pools[key]


def _create(address: str, pool_size: int) -> PoolManager:
    parts = urlsplit(address)
    proxy = getproxies().get(parts.scheme)
    if proxy and not proxy_bypass(parts.netloc):
        manager: PoolManager = ProxyManager(proxy if "://" in proxy else f"http://{proxy}", maxsize=pool_size)
    else:
        manager = PoolManager(maxsize=pool_size)
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
    return manager


def _after_fork() -> None:
    """Drop the connections of the parent process."""
    global _lock
    _lock = threading.Lock()
    _pools.clear()


os.register_at_fork(after_in_child=_after_fork)
