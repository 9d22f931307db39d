"""Streaming of results of any size: tasks send rows through a socket, one batch in memory at a time.

``DataFrame.toLocalIterator`` collects a partition in the driver's memory before its first row arrives, which fails for
the scan of a large file.
"""

from __future__ import annotations

import json
import secrets
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from itertools import islice

from pyspark import SparkContext, inheritable_thread_target
from pyspark.sql import DataFrame, SparkSession

from paimon_sql.errors import PaimonError
from paimon_sql.shell.engine.engine import complete

_Row = tuple[str | None, ...]

_LOOPBACK = "127.0.0.1"
_POLL = 0.1
_CONNECT_SECONDS = 60.0
_TOKEN_SIZE = 16
_TOKEN_SECONDS = 10.0
_MOST_STRANGERS = 64
_PIECE = 1024 * 1024
_SIZE = struct.Struct(">q")
_END = -1
_ROWS = 1000


def stream_rows(frame: DataFrame) -> Iterator[_Row]:
    """Yield the rows of a frame in order; partitions are computed one by one, as rows are consumed.

    Raises:
        PaimonError: a task was lost after some of its rows were yielded, so that it cannot be retried.
    """
    context = frame.sparkSession.sparkContext
    # This plans, and runs the shuffles below; then each partition is one job.
    rows = frame.rdd
    for partition in range(rows.getNumPartitions()):
        with _listening(context) as (server, sender):
            job = _job(frame.sparkSession, partial(context.runJob, rows, sender, [partition]))
            yield from _received(server, sender.token, job)


class _Sender:
    """Runs in the task: sends the rows of a partition to the driver, and yields their number."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self.token = secrets.token_bytes(_TOKEN_SIZE)

    def __call__(self, rows: Iterable[Sequence[str | None]]) -> Iterator[int]:
        remaining = iter(rows)
        count = 0
        with (
            socket.create_connection((self.host, self.port), _CONNECT_SECONDS) as connection,
            connection.makefile("wb") as target,
        ):
            # The reader may be slow, as over a page, but must be alive.
            connection.settimeout(None)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            target.write(self.token)
            target.flush()
            while batch := [tuple(row) for row in islice(remaining, _ROWS)]:
                data = json.dumps(batch).encode()
                target.write(_SIZE.pack(len(data)) + data)
                target.flush()
                count += len(batch)
            target.write(_SIZE.pack(_END))
        yield count


@contextmanager
def _listening(context: SparkContext) -> Iterator[tuple[socket.socket, _Sender]]:
    """Open a listening socket and its sender.

    With a local master it listens on the loopback interface, on a cluster at the address of Spark's driver:
    ``spark.driver.bindAddress``, or else ``spark.driver.host``.
    """
    host = address = _LOOPBACK
    if not context.master.startswith("local"):
        conf = context.getConf()
        host = str(conf.get("spark.driver.host"))
        address = str(conf.get("spark.driver.bindAddress", host)).strip("[]")
    family = socket.getaddrinfo(address, 0, type=socket.SOCK_STREAM)[0][0]
    with socket.create_server((address, 0), family=family) as server:
        yield server, _Sender(host.strip("[]"), server.getsockname()[1])


def _received(server: socket.socket, token: bytes, job: Future[list[int]]) -> Iterator[_Row]:
    count = 0
    connection = _accepted(server, token, job)
    # From here on Spark must not retry the task: its rows would arrive twice.
    server.close()
    if connection is not None:
        with connection:
            for batch in _batches(connection, job):
                count += len(batch)
                yield from batch
    if sum(job.result()) != count:
        raise PaimonError("A task was lost after some of its rows were printed.", remedy="Run the statement again.")


def _accepted(server: socket.socket, token: bytes, job: Future[list[int]]) -> socket.socket | None:
    """The connection of the job's task; None if the job ended without one.

    Others may connect, too. All connections are awaited together; each must send the token within `_TOKEN_SECONDS`, and
    only the newest `_MOST_STRANGERS` without it are retained.
    """
    ended: float | None = None
    with _PendingPeers(server, token) as peers:
        while ended is None or time.monotonic() - ended < _TOKEN_SECONDS:
            # A short job may have ended with its connection still queued: poll once more after its end.
            was_over = job.done()
            if (found := peers.authenticated(_POLL)) is not None:
                return found
            if was_over and not peers.had_activity:
                break
            if was_over and ended is None:
                ended = time.monotonic()
    return None


class _PendingPeers:
    """Connections that have not sent the token yet."""

    def __init__(self, server: socket.socket, token: bytes) -> None:
        self._server = server
        self._token = token
        self._tokens: dict[socket.socket, tuple[bytes, float]] = {}
        self._selector = selectors.DefaultSelector()
        self.had_activity = False

    def __enter__(self) -> _PendingPeers:
        self._server.setblocking(False)
        self._selector.register(self._server, selectors.EVENT_READ)
        return self

    def __exit__(self, *exception: object) -> None:
        for peer in list(self._tokens):
            self._drop(peer)
        self._selector.close()

    def authenticated(self, seconds: float) -> socket.socket | None:
        """A connection that sends the token within some seconds; sets ``had_activity`` if anything arrived."""
        now = time.monotonic()
        for peer in [s for s, (_, since) in self._tokens.items() if now - since > _TOKEN_SECONDS]:
            self._drop(peer)
        ready = [key.fileobj for key, _ in self._selector.select(seconds)]
        self.had_activity = bool(ready)
        for one in ready:
            if one is self._server:
                self._accept()
            elif isinstance(one, socket.socket) and one in self._tokens and self._sends_token(one):
                self._selector.unregister(one)
                del self._tokens[one]
                one.setblocking(True)
                return one
        return None

    def _accept(self) -> None:
        try:
            peer, _ = self._server.accept()
        except OSError:
            return
        peer.setblocking(False)
        self._tokens[peer] = (b"", time.monotonic())
        self._selector.register(peer, selectors.EVENT_READ)
        if len(self._tokens) > _MOST_STRANGERS:
            self._drop(next(iter(self._tokens)))

    def _sends_token(self, peer: socket.socket) -> bool:
        token, since = self._tokens[peer]
        try:
            data = peer.recv(_TOKEN_SIZE - len(token))
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        token += data
        self._tokens[peer] = (token, since)
        if len(token) == _TOKEN_SIZE and secrets.compare_digest(token, self._token):
            return True
        if not data or len(token) == _TOKEN_SIZE:
            self._drop(peer)
        return False

    def _drop(self, peer: socket.socket) -> None:
        del self._tokens[peer]
        self._selector.unregister(peer)
        peer.close()


def _batches(connection: socket.socket, job: Future[list[int]]) -> Iterator[list[_Row]]:
    """Yield batches up to the end, or until the task breaks off, for which the job has the reason."""
    while len(head := _read(connection, _SIZE.size, job)) == _SIZE.size:
        (size,) = _SIZE.unpack(head)
        if size < 0 or len(data := _read(connection, size, job)) < size:
            return
        yield [tuple(row) for row in json.loads(data)]


def _read(connection: socket.socket, size: int, job: Future[list[int]]) -> bytes:
    """Read ``size`` bytes; fewer if the task broke off, or its job has ended and nothing more arrives."""
    found = bytearray()
    connection.settimeout(_POLL)
    while len(found) < size:
        ended = job.done()
        try:
            data = connection.recv(min(_PIECE, size - len(found)))
        except TimeoutError:
            if ended:
                break
            continue
        except OSError:
            break
        if not data:
            break
        found += data
    return bytes(found)


def _job(session: SparkSession, work: Callable[[], list[int]]) -> Future[list[int]]:
    """Run work in a thread with the session's job group, so that it can be cancelled; returns its future."""
    answer: Future[list[int]] = Future()
    target = inheritable_thread_target(session)(partial(complete, answer, work))
    threading.Thread(target=target, name="paimon-sql-rows", daemon=True).start()
    return answer
