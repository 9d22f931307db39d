"""Bounded HTTP requests: one server, no redirects, no proxies of the environment, limited size and time.

The time limit covers the whole request, from the DNS lookup to the last byte, so that a slow server cannot hold a
statement longer than a silent one.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from paimon_sql.errors import MissingFileError, PaimonError
from paimon_sql.storage.file_io.external.locations import WEB_PORTS, redacted

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_READ_TIMEOUT = 30.0
"""Seconds without a byte after which a server counts as dead."""
_NOT_FOUND = (404, 410)
_CHUNK = 1024 * 1024


class HttpResponse(AbstractContextManager["HttpResponse"]):
    """The response of a server, read as a stream from its beginning; as a context manager it closes the connection.

    Args:
        method: the HTTP method.
        url: the URL, which the caller has checked to be allowed.
        seconds: time limit of the whole request.
        most_bytes: maximum size of the response body.
        body: body of the request.
        headers: headers of the request.

    Raises:
        MissingFileError: the server answers 404 or 410.
        PaimonError: it does not answer in time, or answers with another error.
    """

    def __init__(
        self,
        method: str,
        url: str,
        *,
        seconds: float,
        most_bytes: int,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._shown, self._seconds = redacted(url), seconds
        self._max_bytes = self._remaining = most_bytes
        self._socket: socket.socket | None = None
        self._answer: http.client.HTTPResponse | None = None
        try:
            self._check_status(self._send(method, url, body, dict(headers or {})).status)
        except BaseException as error:
            self.close()
            raise self._translate(error) from None

    def __exit__(self, *failure: object) -> None:
        self.close()

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes, all remaining without a size; empty at the end."""
        try:
            assert self._answer is not None
            wanted = self._remaining + 1 if size < 0 else min(size, self._remaining + 1)
            data = self._answer.read(wanted)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise self._translate(error) from None
        if not data and self._answer.length and size:
            raise PaimonError(f"{self._shown} ends {self._answer.length} bytes before its declared length.")
        self._remaining -= len(data)
        if self._remaining < 0:
            raise PaimonError(f"{self._shown} returns more than the {self._max_bytes} bytes that are allowed.")
        return data

    def seek(self, offset: int) -> None:
        """Skip bytes, forward only."""
        while offset > 0 and (skipped := len(self.read(min(offset, _CHUNK)))):
            offset -= skipped

    def close(self) -> None:
        """Close the connection."""
        if self._answer is not None:
            self._answer.close()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, method: str, url: str, body: bytes | None, headers: dict[str, str]) -> http.client.HTTPResponse:
        deadline = time.monotonic() + self._seconds
        parts = urlsplit(url)
        host, port = str(parts.hostname), parts.port or WEB_PORTS[parts.scheme]
        self._socket = connected = _connect(host, port, deadline)
        if parts.scheme == "https":
            connected.settimeout(_remaining_seconds(deadline))
            self._socket = connected = ssl.create_default_context().wrap_socket(connected, server_hostname=host)
        connection = http.client.HTTPConnection(host, port)
        connection.default_port = WEB_PORTS[parts.scheme]
        connection.sock = connected
        target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        connected.settimeout(_remaining_seconds(deadline))
        connection.request(method, target, body, {"Connection": "close", **headers})
        reading = TimedReading(connected, deadline)
        self._answer = answer = http.client.HTTPResponse(reading, method=method)  # type: ignore[arg-type]
        answer.begin()
        return answer

    def _check_status(self, status: int) -> None:
        if status in _NOT_FOUND:
            raise MissingFileError(f"{self._shown} answered {status}.", path=self._shown)
        if 300 <= status < 400:
            raise PaimonError(f"{self._shown} answered {status}, and redirects are not followed.")
        if not 200 <= status < 300:
            raise PaimonError(f"{self._shown} answered {status}.")

    def _translate(self, error: BaseException) -> BaseException:
        if isinstance(error, TimeoutError):
            return PaimonError(f"{self._shown} did not answer in time: {self._seconds:g} seconds are allowed.")
        if isinstance(error, (OSError, ValueError, http.client.HTTPException)) and not isinstance(error, PaimonError):
            return PaimonError(
                f"The request to {self._shown} failed: {' '.join(str(error).split()) or type(error).__name__}."
            )
        return error


class TimedReading(io.RawIOBase):
    """A connection as ``http.client.HTTPResponse`` reads it, until a deadline.

    Args:
        connected: the connection.
        deadline: time of the monotonic clock.
    """

    def __init__(self, connected: socket.socket, deadline: float) -> None:
        self._socket = connected
        # It keeps the connection open until it is closed, even if the socket is closed before.
        self._raw = connected.makefile("rb", buffering=0)
        self._deadline = deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return the file to read; reads after the deadline raise ``TimeoutError``."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        self._socket.settimeout(_remaining_seconds(self._deadline))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _connect(host: str, port: int, deadline: float) -> socket.socket:
    """Connect to the first address of the host that accepts."""
    last_error: OSError | None = None
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(_remaining_seconds(deadline))
            connection.connect(address)
            return connection
        except OSError as error:
            connection.close()
            last_error = error
    raise last_error or OSError(f"{host} has no address")


def _remaining_seconds(deadline: float) -> float:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    return min(remaining, _READ_TIMEOUT)
