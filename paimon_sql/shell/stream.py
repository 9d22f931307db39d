"""Rows of an answer of any size, through a socket from the task that makes them: only a batch at a time is in memory.

``DataFrame.toLocalIterator`` brings a whole partition into the driver's memory before its first row arrives, which the
scan of a large file does not survive.
"""

from __future__ import annotations

import pickle
import secrets
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import islice
from typing import Any, BinaryIO

from pyspark import SparkContext, inheritable_thread_target
from pyspark.sql import DataFrame, SparkSession

from paimon_sql.errors import PaimonError

_Row = tuple[str | None, ...]

_POLL = 0.1
_TOKEN_SIZE = 16
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
        with socket.create_connection((self.host, self.port)) as connection, connection.makefile("wb") as target:
            target.write(self.token)
            while batch := [tuple(row) for row in islice(remaining, _ROWS)]:
                data = pickle.dumps(batch, pickle.HIGHEST_PROTOCOL)
                target.write(_SIZE.pack(len(data)) + data)
                target.flush()
                count += len(batch)
            target.write(_SIZE.pack(_END))
        yield count


class _Listening:
    """A socket that listens, and what sends to it, as long as the block lasts."""

    def __init__(self, context: SparkContext) -> None:
        self._local = context.master.startswith("local")
        self._host = "127.0.0.1" if self._local else context.getConf().get("spark.driver.host")

    def __enter__(self) -> tuple[socket.socket, _Sender]:
        self._socket = socket.create_server((self._host if self._local else "", 0))
        return self._socket, _Sender(self._host, self._socket.getsockname()[1])

    def __exit__(self, *exception: object) -> None:
        self._socket.close()


def _received(server: socket.socket, token: bytes, job: Future[list[int]]) -> Iterator[_Row]:
    count = 0
    connection = _accepted(server, token, job)
    # From now on the task cannot be run again: its rows would come twice.
    server.close()
    if connection is not None:
        with connection, connection.makefile("rb") as source:
            for batch in _batches(source):
                count += len(batch)
                yield from batch
    if sum(job.result()) != count:
        raise PaimonError("A task was lost after a part of its rows was put out.", remedy="Run the statement again.")


def _accepted(server: socket.socket, token: bytes, job: Future[list[int]]) -> socket.socket | None:
    """The connection of the job's task; None where the job ended without one."""
    server.settimeout(_POLL)
    over = False
    while not over:
        # A short job may have ended with its connection still in the queue: look once more after its end.
        over = job.done()
        try:
            connection, _ = server.accept()
        except TimeoutError:
            continue
        connection.settimeout(None)
        if connection.recv(_TOKEN_SIZE, socket.MSG_WAITALL) == token:
            return connection
        connection.close()
        over = False
    return None


def _batches(source: BinaryIO) -> Iterator[list[_Row]]:
    """The batches up to the end, or up to where the task broke off; its job tells why."""
    while len(head := source.read(_SIZE.size)) == _SIZE.size:
        (size,) = _SIZE.unpack(head)
        if size == _END or len(data := source.read(size)) < size:
            return
        yield pickle.loads(data)


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
