"""Rows of an answer of any size, through a socket from the task that makes them: only a batch at a time is in memory.

``DataFrame.toLocalIterator`` brings a whole partition into the driver's memory before its first row arrives, which the
scan of a large file does not survive.
"""

from __future__ import annotations

import json
import secrets
import selectors
import socket
import struct
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import islice
from typing import Any

from pyspark import SparkContext, inheritable_thread_target
from pyspark.sql import DataFrame, SparkSession

from paimon_sql.errors import PaimonError

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
    """The rows of a frame in its order; its partitions are computed one after the other, as the rows are taken.

    Raises:
        PaimonError: a task was lost after some of its rows had been handed over, so that running it again is no help.
    """
    context = frame.sparkSession.sparkContext
    # The plan is made, and the shuffles below are run, here; then each partition is a job of its own.
    rows = frame.rdd
    for partition in range(rows.getNumPartitions()):
        with _Listening(context) as (server, sender):
            job = _job(frame.sparkSession, partial(context.runJob, rows, sender, [partition]))
            yield from _received(server, sender.token, job)


class _Sender:
    """Runs in the task: sends the rows of its partition to the driver; its answer is how many there were."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self.token = secrets.token_bytes(_TOKEN_SIZE)

    def __call__(self, rows: Iterable[Any]) -> Iterator[int]:
        remaining = iter(rows)
        count = 0
        with (
            socket.create_connection((self.host, self.port), _CONNECT_SECONDS) as connection,
            connection.makefile("wb") as target,
        ):
            # Whoever reads the rows may take their time over a page, but must be there.
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


class _Listening:
    """A socket that listens, and what sends to it, as long as the block lasts.

    It listens on this machine alone where Spark does, and on a cluster at the address at which Spark's driver listens:
    ``spark.driver.bindAddress``, or else ``spark.driver.host``.
    """

    def __init__(self, context: SparkContext) -> None:
        conf = context.getConf()
        local = context.master.startswith("local")
        self._host = _LOOPBACK if local else str(conf.get("spark.driver.host"))
        self._address = self._host if local else str(conf.get("spark.driver.bindAddress", self._host))

    def __enter__(self) -> tuple[socket.socket, _Sender]:
        address = self._address.strip("[]")
        family = socket.getaddrinfo(address, 0, type=socket.SOCK_STREAM)[0][0]
        self._socket = socket.create_server((address, 0), family=family)
        return self._socket, _Sender(self._host.strip("[]"), self._socket.getsockname()[1])

    def __exit__(self, *exception: object) -> None:
        self._socket.close()


def _received(server: socket.socket, token: bytes, job: Future[list[int]]) -> Iterator[_Row]:
    count = 0
    connection = _accepted(server, token, job)
    # From now on the task cannot be run again: its rows would come twice.
    server.close()
    if connection is not None:
        with connection:
            for batch in _batches(connection, job):
                count += len(batch)
                yield from batch
    if sum(job.result()) != count:
        raise PaimonError("A task was lost after a part of its rows was put out.", remedy="Run the statement again.")


def _accepted(server: socket.socket, token: bytes, job: Future[list[int]]) -> socket.socket | None:
    """The connection of the job's task; None where the job ended without one.

    Others may connect, too. Each has a moment to say the token while all are waited for at once; of those that say
    nothing only the newest are kept.
    """
    ended: float | None = None
    with _Strangers(server, token) as strangers:
        while ended is None or time.monotonic() - ended < _TOKEN_SECONDS:
            # A short job may have ended with its connection still in the queue: look once more after its end.
            was_over = job.done()
            if (found := strangers.known(_POLL)) is not None:
                return found
            if was_over and not strangers.came:
                break
            if was_over and ended is None:
                ended = time.monotonic()
    return None


class _Strangers:
    """Connections that have not said the token yet."""

    def __init__(self, server: socket.socket, token: bytes) -> None:
        self._server = server
        self._token = token
        self._said: OrderedDict[socket.socket, tuple[bytes, float]] = OrderedDict()
        self._selector = selectors.DefaultSelector()
        self.came = False

    def __enter__(self) -> _Strangers:
        self._server.setblocking(False)
        self._selector.register(self._server, selectors.EVENT_READ)
        return self

    def __exit__(self, *exception: object) -> None:
        for stranger in list(self._said):
            self._drop(stranger)
        self._selector.close()

    def known(self, seconds: float) -> socket.socket | None:
        """Whoever says the token within so many seconds; ``came`` tells whether anything happened meanwhile."""
        now = time.monotonic()
        for stranger in [s for s, (_, since) in self._said.items() if now - since > _TOKEN_SECONDS]:
            self._drop(stranger)
        ready = [key.fileobj for key, _ in self._selector.select(seconds)]
        self.came = bool(ready)
        for one in ready:
            if one is self._server:
                self._take_in()
            elif isinstance(one, socket.socket) and one in self._said and self._says_token(one):
                self._selector.unregister(one)
                del self._said[one]
                one.setblocking(True)
                return one
        return None

    def _take_in(self) -> None:
        try:
            stranger, _ = self._server.accept()
        except OSError:
            return
        stranger.setblocking(False)
        self._said[stranger] = (b"", time.monotonic())
        self._selector.register(stranger, selectors.EVENT_READ)
        if len(self._said) > _MOST_STRANGERS:
            self._drop(next(iter(self._said)))

    def _says_token(self, stranger: socket.socket) -> bool:
        said, since = self._said[stranger]
        try:
            data = stranger.recv(_TOKEN_SIZE - len(said))
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        said += data
        self._said[stranger] = (said, since)
        if len(said) == _TOKEN_SIZE and secrets.compare_digest(said, self._token):
            return True
        if not data or len(said) == _TOKEN_SIZE:
            self._drop(stranger)
        return False

    def _drop(self, stranger: socket.socket) -> None:
        del self._said[stranger]
        self._selector.unregister(stranger)
        stranger.close()


def _batches(connection: socket.socket, job: Future[list[int]]) -> Iterator[list[_Row]]:
    """The batches up to the end, or up to where the task broke off; its job tells why."""
    while len(head := _read(connection, _SIZE.size, job)) == _SIZE.size:
        (size,) = _SIZE.unpack(head)
        if size < 0 or len(data := _read(connection, size, job)) < size:
            return
        yield [tuple(row) for row in json.loads(data)]


def _read(connection: socket.socket, size: int, job: Future[list[int]]) -> bytes:
    """So many bytes; fewer where the task broke off, or its job has ended and nothing comes any more."""
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
    """What the work will answer, from a thread of its own; the job's group goes along, so that it can be cancelled."""
    answer: Future[list[int]] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=inheritable_thread_target(session)(run), name="paimon-sql-rows", daemon=True).start()
    return answer
