"""Callbacks, the calls from the JVM to Python: authentication, latency, and release of idle connections.

Py4J's callback server listens on localhost only. But PySpark gives it no secret (and Py4J drops the JVM's when the port
of the server is set), so any process of the machine could call the objects behind it, which run SQL. `secure_callbacks`
gives both sides the secret that already protects calls in the other direction.

A message longer than a buffer leaves as several packets. By default the last one waits for the acknowledgement of the
earlier ones (Nagle), which the other side delays by 40 ms; `disable_nagle` sets TCP_NODELAY on both sides.
"""

from __future__ import annotations

import secrets
import socket
import threading
import time
import weakref
from typing import Any
from weakref import WeakSet

from py4j.protocol import Py4JError

from paimon_sql.spark.jvm.gateway import Jvm, private_field

_GREETING_LINES = 3
"""Lines at the start of a connection that carry the secret."""
_GREETING_SECONDS = 30.0
_MAX_GREETING_BYTES = 1024


def secure_callbacks(gateway: Any) -> None:
    """Make the callback server of a gateway accept calls of its own JVM only, and close connections without a greeting.

    Existing connections are unchanged.
    """
    server, parameters = gateway._callback_server, gateway.callback_server_parameters
    secret = gateway.gateway_parameters.auth_token
    if parameters.auth_token is not None or not secret:
        return
    client = gateway.java_gateway_server.getCallbackClient()
    field, _ = private_field(client, "authToken")
    field.set(client, secret)
    parameters.auth_token = _Secret(secret)
    create = server._create_connection
    server._create_connection = lambda connected, stream: create(connected, _Greeted(connected, stream))


def disable_nagle(gateway: Any) -> None:
    """Let both ends of this thread's connection to the JVM send packets without waiting for acknowledgements."""
    own = getattr(gateway._gateway_client, "get_thread_connection", lambda: None)()
    if own is None or own.socket is None or own.socket in _AT_ONCE:
        return
    own.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # The call travels over this connection, so the JVM's thread that serves the connection answers.
    theirs = gateway.java_gateway_server.getCallbackClient().getPerThreadConnection()
    if theirs is not None:
        theirs.getSocket().setTcpNoDelay(True)
    _AT_ONCE.add(own.socket)


_AT_ONCE: WeakSet[socket.socket] = WeakSet()
"""Sockets with TCP_NODELAY on both ends."""


class _Secret(str):
    """A string that compares in constant time."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and secrets.compare_digest(self.encode(), other.encode())


class _Greeted:
    """The input stream of a connection, with a limit of time and of bytes for the lines of the greeting together."""

    def __init__(self, connected: socket.socket, stream: Any) -> None:
        self._socket = connected
        self._stream = stream
        self._lines = _GREETING_LINES
        self._bytes = _MAX_GREETING_BYTES
        self._deadline = time.monotonic() + _GREETING_SECONDS

    def readline(self, *arguments: Any) -> Any:
        """The next line.

        Raises:
            OSError: the greeting takes too long or is too long.
        """
        if not self._lines:
            return self._stream.readline(*arguments)
        line = self._greeting()
        self._lines -= 1
        if not self._lines:
            self._socket.settimeout(None)
        return line

    def _greeting(self) -> bytes:
        line = bytearray()
        while not line.endswith(b"\n"):
            remaining = self._deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError("the greeting takes too long")
            self._socket.settimeout(remaining)
            if not (byte := self._stream.read(1)):
                break
            line += byte
            self._bytes -= 1
            if self._bytes < 0:
                raise ConnectionError("the greeting is too long")
        return bytes(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


RELEASE_INTERVAL = 60.0
"""Seconds between two releases of idle connections."""


def start_releasing_connections(jvm: Jvm) -> None:
    """Release idle connections periodically, in a thread that ends with the JVM."""
    arguments = (weakref.ref(jvm),)
    threading.Thread(target=_watch, args=arguments, name="paimon-connections", daemon=True).start()


def release_idle_connections(jvm: Jvm) -> None:
    """Release the idle connections.

    They are not closed, only no longer referenced: a living thread returns its own to the pool, and those of ended
    threads are closed by the JVM's next garbage collection, after which Python's threads end.
    """
    client = jvm.gateway.java_gateway_server.getCallbackClient()
    _, lock = private_field(client, "lock")
    _, connections = private_field(client, "connections")
    lock.lock()
    try:
        connections.clear()
    finally:
        lock.unlock()


def _watch(reference: weakref.ref[Jvm]) -> None:
    while True:
        time.sleep(RELEASE_INTERVAL)
        jvm = reference()
        if jvm is None or jvm.context._jsc is None:
            return
        try:
            release_idle_connections(jvm)
        except (Py4JError, OSError):
            return  # the JVM has ended
        del jvm
