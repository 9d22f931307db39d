"""HTTP requests within bounds: one server, no redirects, no proxies of the environment, so many bytes and seconds.

The seconds are those of the whole request, from the look-up of the host's name to the last byte: a server that sends
a byte now and then holds a statement no longer than one that is silent.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from paimon_sql.errors import MissingFileError, PaimonError
from paimon_sql.storage.file_io.external.locations import WEB_PORTS, shown

_LONGEST_WAIT = 30.0
"""Seconds without a byte after which a server counts as gone."""
_NOT_FOUND = (404, 410)
_PIECE = 1024 * 1024


class WebAnswer:
    """What a server answers, read as a stream from its beginning; as a context it lets go of the connection.

    Args:
        method: the method.
        url: the address, which the caller has found to be allowed.
        seconds: how long all of it may take.
        most_bytes: how much of the answer's body is read.
        body: what is sent.
        headers: what is said of it.

    Raises:
        MissingFileError: the server does not know the address.
        PaimonError: it does not answer, not in time, or with another status than success.
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
        self._shown = shown(url)
        self._left = most_bytes
        self._most = most_bytes
        self._seconds = seconds
        self._socket: socket.socket | None = None
        self._answer: http.client.HTTPResponse | None = None
        try:
            self._check_status(self._asked(method, url, body, dict(headers or {})).status)
        except BaseException as error:
            self.close()
            raise self._failed(error) from None

    def __enter__(self) -> WebAnswer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(self, size: int = -1) -> bytes:
        """The next bytes, up to so many; all that follow without a number. None are left at the end."""
        try:
            assert self._answer is not None
            wanted = self._left + 1 if size < 0 else min(size, self._left + 1)
            data = self._answer.read(wanted)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise self._failed(error) from None
        if not data and self._answer.length and size:
            raise PaimonError(f"{self._shown} ends {self._answer.length} bytes before the length that it says.")
        self._left -= len(data)
        if self._left < 0:
            raise PaimonError(f"{self._shown} answers with more than the {self._most} bytes that are allowed.")
        return data

    def seek(self, offset: int) -> None:
        """Pass over bytes."""
        while offset > 0:
            passed = len(self.read(min(offset, _PIECE)))
            if not passed:
                return
            offset -= passed

    def close(self) -> None:
        """Let the connection go."""
        if self._answer is not None:
            self._answer.close()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _asked(self, method: str, url: str, body: bytes | None, headers: dict[str, str]) -> http.client.HTTPResponse:
        deadline = time.monotonic() + self._seconds
        parts = urlsplit(url)
        host, port = str(parts.hostname), parts.port or WEB_PORTS[parts.scheme]
        self._socket = connected = _connected(host, port, deadline)
        if parts.scheme == "https":
            connected.settimeout(_left(deadline))
            self._socket = connected = ssl.create_default_context().wrap_socket(connected, server_hostname=host)
        connection = http.client.HTTPConnection(host, port)
        connection.default_port = WEB_PORTS[parts.scheme]
        connection.sock = connected
        target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        connected.settimeout(_left(deadline))
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

    def _failed(self, error: BaseException) -> BaseException:
        if isinstance(error, TimeoutError):
            return PaimonError(f"{self._shown} did not answer in time: {self._seconds:g} seconds are allowed.")
        if isinstance(error, (OSError, ValueError, http.client.HTTPException)) and not isinstance(error, PaimonError):
            return PaimonError(
                f"{self._shown} cannot be asked: {' '.join(str(error).split()) or type(error).__name__}."
            )
        return error


class TimedReading:
    """A connection as ``http.client.HTTPResponse`` reads it, until a moment by the monotonic clock.

    Args:
        connected: the connection.
        deadline: the moment.
    """

    def __init__(self, connected: socket.socket, deadline: float) -> None:
        self._socket = connected
        self._deadline = deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        """The file that is read; TimeoutError where the time is over."""
        return io.BufferedReader(_RawReading(self._socket, self._deadline))


class _RawReading(io.RawIOBase):
    def __init__(self, connected: socket.socket, deadline: float) -> None:
        self._socket = connected
        # It keeps the connection open for as long as it is open itself, whoever closes the socket before.
        self._raw = connected.makefile("rb", buffering=0)
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._socket.settimeout(_left(self._deadline))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _connected(host: str, port: int, deadline: float) -> socket.socket:
    """A connection to the first of the host's addresses that takes it."""
    refused: OSError | None = None
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        connected = socket.socket(family, kind, protocol)
        try:
            connected.settimeout(_left(deadline))
            connected.connect(address)
            return connected
        except OSError as error:
            connected.close()
            refused = error
    raise refused or OSError(f"{host} has no address")


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return min(left, _LONGEST_WAIT)
