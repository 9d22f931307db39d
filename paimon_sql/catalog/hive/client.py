"""Connections to Hive's metastore, shared by all who use one in this process."""

from __future__ import annotations

import atexit
import getpass
import logging
import os
import select
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pymetastore.hive_metastore.ThriftHiveMetastore import Client
from pymetastore.hive_metastore.ttypes import (
    AlreadyExistsException,
    InvalidObjectException,
    InvalidOperationException,
    NoSuchObjectException,
)
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from paimon_sql.errors import CatalogUnavailableError, InvalidInputError, InvalidOptionError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import CLIENT_POOL_CACHE_EVICTION_INTERVAL_MS, CLIENT_POOL_SIZE, URI

# It would write to standard error what our own errors say.
logging.getLogger("thrift.transport.TSocket").addHandler(logging.NullHandler())

_PORT = 9083
_OPEN_MILLIS = 20_000
_CALL_MILLIS = 600_000
_ASKING = ("get_", "check_lock", "unlock")
"""How the names of calls start that may be made twice."""


class MissingEntryError(Exception):
    """The metastore has nothing of that name. (Thrift's own exceptions cannot pass through a ``with``.)"""


class EntryExistsError(Exception):
    """The metastore has something of that name already."""


@dataclass(frozen=True)
class Metastore:
    """A metastore, as the options of a catalog name it; it can be pickled, and nothing is opened before it is used.

    Attributes:
        servers: the hosts and ports of its servers, of which any one will do.
        user: whom its servers are told that we are.
        pool_size: how many connections are kept.
        idle_seconds: how long they are kept without use.
    """

    servers: tuple[tuple[str, int], ...]
    user: str
    pool_size: int
    idle_seconds: float

    @classmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> Metastore:
        """The metastore of a catalog with these options.

        Raises:
            InvalidOptionError: there is no address, or it cannot be understood.
        """
        said = [part for part in options.get(URI.key, "").replace(" ", "").split(",") if part]
        if not said:
            raise InvalidOptionError(
                f"Catalog {catalog} has no '{URI.key}'.", key=URI.key, remedy=f"Set it to thrift://host:{_PORT}."
            )
        read = TableOptions(options)
        size, millis = read.get(CLIENT_POOL_SIZE), read.get(CLIENT_POOL_CACHE_EVICTION_INTERVAL_MS)
        user = os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
        return cls(tuple(map(_server, said)), user, size, millis / 1000)

    def __str__(self) -> str:
        return ",".join(f"thrift://{host}:{port}" for host, port in self.servers)

    def call(self, name: str, *arguments: object) -> Any:
        """What the metastore answers to a call of its interface.

        Args:
            name: the call, as Hive's Thrift interface names it.
            arguments: what it is given.

        Raises:
            MissingEntryError: what is asked for is not there.
            TakenEntryError: what is to be made is there.
            InvalidInputError: the metastore does not take such an object.
            CatalogUnavailableError: no server answers, or it refuses.
        """
        while True:
            connection, is_fresh = _taken(self)
            try:
                answer = getattr(connection.client, name)(*arguments)
            except (TTransportException, OSError) as error:
                connection.close()
                # A server that was started anew has forgotten the connections that were kept.
                if not is_fresh and name.startswith(_ASKING):
                    continue
                raise self._unavailable("gave no answer", error) from error
            except (NoSuchObjectException, AlreadyExistsException) as error:
                _given_back(self, connection)
                kind = MissingEntryError if isinstance(error, NoSuchObjectException) else EntryExistsError
                raise kind(_said(error)) from error
            except (InvalidObjectException, InvalidOperationException) as error:
                _given_back(self, connection)
                raise InvalidInputError(f"Hive's metastore does not take this: {_said(error)}.") from error
            except TException as error:
                _given_back(self, connection)
                raise self._unavailable("refused", error) from error
            except BaseException:
                connection.close()  # an answer may be on its way still
                raise
            _given_back(self, connection)
            return answer

    def knows(self, name: str, *arguments: object) -> bool:
        """Whether the metastore is new enough to answer to a call at all.

        Raises:
            CatalogUnavailableError: no server answers, or it refuses.
        """
        try:
            self.call(name, *arguments)
        except CatalogUnavailableError as error:
            cause = error.__cause__
            if isinstance(cause, TApplicationException) and cause.type == TApplicationException.UNKNOWN_METHOD:
                return False
            raise
        return True

    def connected(self) -> Connection:
        """A new connection, to the first server that answers."""
        errors: list[Exception] = []
        for host, port in self.servers:
            connection = Connection(host, port)
            try:
                connection.open(self.user)
            except (TException, OSError) as error:
                connection.close()
                errors.append(error)
            else:
                return connection
        raise self._unavailable("does not answer", errors[-1]) from errors[-1]

    def _unavailable(self, what: str, error: Exception) -> CatalogUnavailableError:
        return CatalogUnavailableError(
            f"Hive's metastore {self} {what}: {_said(error)}.", remedy="Check that it runs, and the option 'uri'."
        )


class Connection:
    """A connection to one server.

    Attributes:
        client: the calls of Hive's Thrift interface.
        used: when it was used last, by the monotonic clock.
    """

    def __init__(self, host: str, port: int) -> None:
        self._socket = TSocket(host, port)
        self._socket.setTimeout(_OPEN_MILLIS)
        self._transport = TBufferedTransport(self._socket)
        self.client = Client(TBinaryProtocolAccelerated(self._transport, fallback=True))
        self.used = time.monotonic()

    def open(self, user: str) -> None:
        """Connect, and say who we are."""
        self._transport.open()
        self.client.set_ugi(user, [])
        self._socket.setTimeout(_CALL_MILLIS)

    def close(self) -> None:
        """End it."""
        self._transport.close()

    def is_usable(self, idle_seconds: float) -> bool:
        """Whether it was used lately and the server has not ended it."""
        handle = self._socket.handle
        if handle is None or time.monotonic() - self.used > idle_seconds:
            return False
        # Nothing is to come before we ask, so that what there is to read is the end.
        return not select.select([handle], [], [], 0)[0]


_idle: dict[Metastore, list[Connection]] = {}
_lock = threading.Lock()


def _taken(metastore: Metastore) -> tuple[Connection, bool]:
    """A connection for the caller alone, and whether it is new."""
    while True:
        with _lock:
            kept = _idle.get(metastore)
            connection = kept.pop() if kept else None
        if connection is None:
            return metastore.connected(), True
        if connection.is_usable(metastore.idle_seconds):
            return connection, False
        connection.close()


def _given_back(metastore: Metastore, connection: Connection) -> None:
    connection.used = time.monotonic()
    with _lock:
        kept = _idle.setdefault(metastore, [])
        if len(kept) < metastore.pool_size:
            kept.append(connection)
            return
    connection.close()


def _close_all() -> None:
    with _lock:
        connections = [c for kept in _idle.values() for c in kept]
        _idle.clear()
    for connection in connections:
        connection.close()


def _after_fork() -> None:
    """Leave the connections to the process that opened them; what is closed here stays open there."""
    global _lock
    _lock = threading.Lock()
    _close_all()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_after_fork)


def _server(uri: str) -> tuple[str, int]:
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port or _PORT
    except ValueError:
        host = None
    if host is None or parts.scheme != "thrift":
        raise InvalidOptionError(
            f"'{uri}' is no address of Hive's metastore.", key=URI.key, remedy=f"It is thrift://host:{_PORT}."
        )
    return host, port


def _said(error: BaseException) -> str:
    """What an error says, on one line."""
    text = getattr(error, "message", None) or str(error) or type(error).__name__
    return " ".join(text.split()).rstrip(".")
