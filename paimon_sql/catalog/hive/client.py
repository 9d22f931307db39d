"""Client of Hive's metastore: its configuration, and a connection pool per process."""

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
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

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

from paimon_sql.errors import CatalogUnavailableError, InvalidInputError, InvalidOptionError, UnsupportedError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import (
    CLIENT_POOL_CACHE_EVICTION_INTERVAL_MS,
    CLIENT_POOL_SIZE,
    HIVE_CONF_DIR,
    URI,
    WAREHOUSE,
)
from paimon_sql.process import share

# Its messages would be printed in addition to our errors.
logging.getLogger("thrift.transport.TSocket").addHandler(logging.NullHandler())

_PORT = 9083
_OPEN_MILLIS = 20_000
_CALL_MILLIS = 600_000
_REPEATABLE = ("get_", "check_lock", "unlock")
"""Prefixes of the calls that may be repeated."""


class MissingEntryError(Exception):
    """The entry does not exist. (Thrift's own exceptions cannot pass through a ``with``.)"""


class EntryExistsError(Exception):
    """The entry exists already."""


@dataclass(frozen=True)
class Metastore:
    """The address of a metastore; it can be pickled, and connections are opened on use.

    Attributes:
        servers: the hosts and ports of its servers, which are equivalent.
        user: the user name sent to the servers.
        pool_size: the max number of pooled connections.
        idle_seconds: the max idle time of pooled connections.
    """

    servers: tuple[tuple[str, int], ...]
    user: str
    pool_size: int
    idle_seconds: float

    @classmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> Metastore:
        """The metastore of a catalog with these options.

        Raises:
            InvalidOptionError: the address is missing or invalid.
        """
        servers = [part for part in options.get(URI.key, "").replace(" ", "").split(",") if part]
        if not servers:
            raise InvalidOptionError(
                f"Catalog {catalog} has no '{URI.key}'.", key=URI.key, remedy=f"Set it to thrift://host:{_PORT}."
            )
        read = TableOptions(options)
        size, millis = read.get(CLIENT_POOL_SIZE), read.get(CLIENT_POOL_CACHE_EVICTION_INTERVAL_MS)
        user = os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
        return cls(tuple(map(_server, servers)), user, size, millis / 1000)

    def __str__(self) -> str:
        return ",".join(f"thrift://{host}:{port}" for host, port in self.servers)

    def call(self, name: str, *arguments: object) -> Any:
        """Call the metastore and return its response.

        Args:
            name: the method of Hive's Thrift interface.
            arguments: its arguments.

        Raises:
            MissingEntryError: the entry does not exist.
            EntryExistsError: the entry exists already.
            InvalidInputError: the metastore considers the object invalid.
            CatalogUnavailableError: no server responds, or it refuses.
        """
        pool = _pool()
        while True:
            connection, is_fresh = pool.take(self)
            try:
                response = getattr(connection.client, name)(*arguments)
            except (TTransportException, OSError) as error:
                connection.close()
                # Pooled connections do not survive a restart of the server.
                if not is_fresh and name.startswith(_REPEATABLE):
                    continue
                raise self._unavailable("did not answer", error) from error
            except (NoSuchObjectException, AlreadyExistsException) as error:
                pool.give_back(self, connection)
                kind = MissingEntryError if isinstance(error, NoSuchObjectException) else EntryExistsError
                raise kind(_message(error)) from error
            except (InvalidObjectException, InvalidOperationException) as error:
                pool.give_back(self, connection)
                raise InvalidInputError(f"Hive's metastore rejected the request: {_message(error)}.") from error
            except TException as error:
                pool.give_back(self, connection)
                raise self._unavailable("refused", error) from error
            except BaseException:
                connection.close()  # a response may still arrive
                raise
            pool.give_back(self, connection)
            return response

    def knows(self, name: str, *arguments: object) -> bool:
        """Whether the metastore has a method, which older versions may lack.

        Raises:
            CatalogUnavailableError: no server responds, or it refuses.
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
        """A new connection, to the first server that responds."""
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
            f"Hive's metastore {self} {what}: {_message(error)}.", remedy="Check that it runs, and the option 'uri'."
        )


class Connection:
    """A connection to one server.

    Attributes:
        client: the client of Hive's Thrift interface.
        used: the time of its last use, by the monotonic clock.
    """

    def __init__(self, host: str, port: int) -> None:
        self._socket = TSocket(host, port)
        self._socket.setTimeout(_OPEN_MILLIS)
        self._transport = TBufferedTransport(self._socket)
        self.client = Client(TBinaryProtocolAccelerated(self._transport, fallback=True))
        self.used = time.monotonic()

    def open(self, user: str) -> None:
        """Connect, and send the user name."""
        self._transport.open()
        self.client.set_ugi(user, [])
        self._socket.setTimeout(_CALL_MILLIS)

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def is_usable(self, idle_seconds: float) -> bool:
        """Whether it was used recently and the server has not closed it."""
        handle = self._socket.handle
        if handle is None or time.monotonic() - self.used > idle_seconds:
            return False
        # Without a pending call, readable data can only be the end of the stream.
        return not select.select([handle], [], [], 0)[0]


class _Pool:
    """The idle connections to metastores."""

    def __init__(self) -> None:
        self._idle: dict[Metastore, list[Connection]] = {}
        self._lock = threading.Lock()

    def take(self, metastore: Metastore) -> tuple[Connection, bool]:
        """Return an exclusive connection, and whether it is new."""
        while True:
            with self._lock:
                connection = pooled.pop() if (pooled := self._idle.get(metastore)) else None
            if connection is None:
                return metastore.connected(), True
            if connection.is_usable(metastore.idle_seconds):
                return connection, False
            connection.close()

    def give_back(self, metastore: Metastore, connection: Connection) -> None:
        """Keep a connection for another call, or close it."""
        connection.used = time.monotonic()
        with self._lock:
            pooled = self._idle.setdefault(metastore, [])
            if len(pooled) < metastore.pool_size:
                pooled.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close all connections; in a forked child they stay open in its parent."""
        while self._idle:
            for connection in self._idle.popitem()[1]:
                connection.close()


_pool = share(_Pool, leave=_Pool.close)
atexit.register(lambda: _pool().close())


def _server(uri: str) -> tuple[str, int]:
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port or _PORT
    except ValueError:
        host = None
    if host is None or parts.scheme != "thrift":
        raise InvalidOptionError(
            f"'{uri}' is not an address of a Hive metastore.", key=URI.key, remedy=f"Use thrift://host:{_PORT}."
        )
    return host, port


def _message(error: BaseException) -> str:
    """The message of an error, on one line."""
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    return " ".join(message.split()).rstrip(".")


_SITE = "hive-site.xml"
_URIS, _WAREHOUSE = "hive.metastore.uris", "hive.metastore.warehouse.dir"
_UNSUPPORTED = {
    "hive.metastore.sasl.enabled": "Kerberos",
    "hive.metastore.use.SSL": "TLS",
    "hive.metastore.thrift.framed.transport.enabled": "framed transport",
    "hive.metastore.thrift.compact.protocol.enabled": "the compact protocol",
}


def with_site(catalog: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options of a catalog, with defaults from ``hive-site.xml``.

    The file is in the directory of the option ``hive-conf-dir``, or else of the environment variable ``HIVE_CONF_DIR``.

    Raises:
        InvalidOptionError: the file cannot be read.
        UnsupportedError: the metastore needs a protocol that is not supported.
    """
    directory = options.get(HIVE_CONF_DIR.key) or os.environ.get("HIVE_CONF_DIR", "")
    site = _read(catalog, Path(directory.removeprefix("file://")) / _SITE) if directory else {}
    found = {**site, **options}
    for key, what in _UNSUPPORTED.items():
        if found.get(key, "").strip().lower() == "true":
            raise UnsupportedError(f"Catalog {catalog}: '{key}' requires {what}, which is not supported.")
    defaults = {URI.key: found.get(_URIS, ""), WAREHOUSE.key: found.get(_WAREHOUSE, "")}
    return {**{k: v for k, v in defaults.items() if v}, **options}


def _read(catalog: str, path: Path) -> dict[str, str]:
    try:
        properties = ElementTree.parse(path).getroot().findall("property")
    except (OSError, ElementTree.ParseError) as error:
        raise InvalidOptionError(
            f"Catalog {catalog}: {path} cannot be read: {error}.",
            key=HIVE_CONF_DIR.key,
            remedy=f"Set '{HIVE_CONF_DIR.key}' to the directory that contains {_SITE}, or leave it out.",
        ) from None
    return {p.findtext("name", "").strip(): p.findtext("value", "").strip() for p in properties}
