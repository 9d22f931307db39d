"""Calls from the JVM to Python: only the JVM may make them.

Py4J's server for them listens on this machine alone. But PySpark gives it no secret (and Py4J drops the JVM's when it
is told the server's port), and so any process of the machine could call the objects that wait there, which run SQL.
Here both sides are given the secret that already protects the calls in the other direction.

What is longer than a buffer leaves as several packets, and by default the last of them waits until the other side
acknowledges those before, which it delays by 40 ms; here both sides send them as they come.
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

_GREETING = 3
"""The lines with which a connection says the secret."""
_GREETING_SECONDS = 30.0
_LONGEST_GREETING = 1024


def secure_callbacks(gateway: Any) -> None:
    """Let the callback server of a gateway take calls of its own JVM only, and wait for no connection that is silent.

    Connections that are there already stay as they are.
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


def send_at_once(gateway: Any) -> None:
    """Let both ends of this thread's connection to the JVM send packets without waiting for acknowledgements."""
    own = getattr(gateway._gateway_client, "get_thread_connection", lambda: None)()
    if own is None or own.socket is None or own.socket in _AT_ONCE:
        return
    own.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Asked over the connection, the JVM's thread that serves it answers.
    theirs = gateway.java_gateway_server.getCallbackClient().getPerThreadConnection()
    if theirs is not None:
        theirs.getSocket().setTcpNoDelay(True)
    _AT_ONCE.add(own.socket)


_AT_ONCE: WeakSet[socket.socket] = WeakSet()
"""The sockets whose both ends are told."""


class _Secret(str):
    """A text whose comparison takes as long whatever differs."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and secrets.compare_digest(self.encode(), other.encode())


class _Greeted:
    """What a connection reads, whose first lines must be short and come soon, all of them together."""

    def __init__(self, connected: socket.socket, stream: Any) -> None:
        self._socket = connected
        self._stream = stream
        self._lines = _GREETING
        self._bytes = _LONGEST_GREETING
        self._deadline = time.monotonic() + _GREETING_SECONDS

    def readline(self, *arguments: Any) -> Any:
        """The next line.

        Raises:
            OSError: the greeting takes too long, or is longer than any.
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


EVERY = 60.0
"""Seconds between two times that idle connections are let go of."""


def let_go_by_itself(jvm: Jvm) -> None:
    """Let go of idle connections now and again, as long as the JVM is in use."""
    arguments = (weakref.ref(jvm),)
    threading.Thread(target=_watch, args=arguments, name="paimon-connections", daemon=True).start()


def let_go(jvm: Jvm) -> None:
    """Let go of the connections that are idle.

    They are not closed, only no longer held: a living thread takes its own up again, and those of threads that have
    ended are closed by the JVM's next garbage collection, whereupon Python's threads end.
    """
    client = jvm.gateway.java_gateway_server.getCallbackClient()
    _, lock = private_field(client, "lock")
    _, connections = private_field(client, "connections")
    lock.lock()
    try:
        connections.clear()
    finally:
        lock.unlock()


def _watch(used: weakref.ref[Jvm]) -> None:
    while True:
        time.sleep(EVERY)
        jvm = used()
        if jvm is None or jvm.context._jsc is None:
            return
        try:
            let_go(jvm)
        except (Py4JError, OSError):
            return  # the JVM has ended
        del jvm
