"""Connections to a REST catalog's server, and its answers within bounds of time and size."""

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
"""How long an answer may take from its first byte to its last: silence ends sooner, by the time for a read."""
_MOST_BYTES = 64 * 1024 * 1024
_PIECE = 1024 * 1024


class OversizedAnswerError(HTTPError):
    """An answer that is larger than any that the specification knows, or packed so that its size cannot be told."""


def request(
    address: str, pool_size: int, method: str, url: str, body: bytes | None, headers: dict[str, str]
) -> tuple[BaseHTTPResponse, bytes]:
    """An answer and its body; redirects are answers like others.

    Args:
        address: the server's address.
        pool_size: how many connections to it are kept.
        method: the method.
        url: what is asked for.
        body: what is sent.
        headers: what is said of it.

    Raises:
        HTTPError: the server cannot be reached, does not answer in time, or answers with too much.
    """
    answer = _pool(address, pool_size).request(
        method, url, body=body, headers=headers, timeout=_TIMEOUT, retries=False, redirect=False, preload_content=False
    )
    try:
        data = _read(answer)
    except BaseException:
        answer.close()
        raise
    answer.release_conn()
    return answer, data


def _read(answer: BaseHTTPResponse) -> bytes:
    # None was asked for: what is packed could become any number of bytes.
    if answer.headers.get("Content-Encoding", "identity") not in ("", "identity"):
        raise OversizedAnswerError("the answer is packed, although none was asked to be")
    found = bytearray()
    while data := answer.read(_PIECE, decode_content=False):
        found += data
        if len(found) > _MOST_BYTES:
            raise OversizedAnswerError(f"the answer has more than {_MOST_BYTES} bytes")
    return bytes(found)


class _Answer(http.client.HTTPResponse):
    """An answer whose status, headers and body all come before one moment."""

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
    """The connections of a server, which threads may share; requests of several users may go over one of them."""
    key = (address, pool_size)
    found = _pools.get(key)
    if found is not None:
        return found
    with _lock:
        if key not in _pools:
            _pools[key] = _opened(address, pool_size)
        return _pools[key]


def _opened(address: str, pool_size: int) -> PoolManager:
    parts = urlsplit(address)
    proxy = getproxies().get(parts.scheme)
    if proxy and not proxy_bypass(parts.netloc):
        made: PoolManager = ProxyManager(proxy if "://" in proxy else f"http://{proxy}", maxsize=pool_size)
    else:
        made = PoolManager(maxsize=pool_size)
    made.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
    return made


def _after_fork() -> None:
    """Leave the connections to the process that opened them."""
    global _lock
    _lock = threading.Lock()
    _pools.clear()


os.register_at_fork(after_in_child=_after_fork)
