"""Start of Spark: for the shell, and with the Thrift server for ``paimon-sql thriftserver``."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import FrameType

from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.shell.engine.report import Report
from paimon_sql.spark.thrift.server import HOST, HTTP_PORT, PORT, TRANSPORT, ThriftServer
from paimon_sql.sql.text.names import quote_name
from paimon_sql.sql.text.secrets import SECRETS_IN_JAVA


@dataclass(frozen=True)
class Setup:
    """Settings of a new session.

    Attributes:
        warehouse: the warehouse of the catalog ``paimon``; by default ``./warehouse``.
        conf: Spark's settings.
        database: the current database, ``db`` or ``catalog.db``.
        variables: values of ``${name}`` in statements.
    """

    warehouse: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    database: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    def start(self) -> SparkSession:
        """Start Spark and return the session."""
        session = paimon_sql.connect(self.warehouse, **self.conf)
        # PySpark would also print every error that it raises.
        logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL)
        for name, value in self.variables.items():
            session.conf.set(name, value)
        if self.database:
            session.sql("USE " + ".".join(map(quote_name, self.database.split("."))))
        return session


_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SECRETS = {"spark.sql.redaction.string.regex": SECRETS_IN_JAVA}
"""Redaction of secrets: Spark's UI shows clients' statements, with the keys and passwords of CREATE CATALOG."""
_TICK = 0.2
"""Seconds between polls for a signal: Python handles one only while this thread runs."""


def address(host: str, port: int, *, http: bool) -> dict[str, str]:
    """The server's options for host, port and transport."""
    return {HOST: host, (HTTP_PORT if http else PORT): str(port), TRANSPORT: "http" if http else "binary"}


class Serving:
    """Starts Spark and the server, and ends both on a signal.

    Args:
        setup: settings of the session that all connections share.
        options: the server's options.
        report: for the address of the server, and its end.
    """

    def __init__(self, setup: Setup, options: Mapping[str, str], report: Report) -> None:
        self._setup = replace(setup, conf={**_SECRETS, **setup.conf})
        self._options = options
        self._report = report
        self._ended = threading.Event()

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM."""
        with self._signals():
            session = self._setup.start()
            try:
                if not self._ended.is_set():
                    self._serve(session)
            finally:
                session.stop()

    def _serve(self, session: SparkSession) -> None:
        server = ThriftServer(session, self._options)
        self._report.note(f"Listening at {server.url}\nCtrl-C stops the server.")
        try:
            while not self._ended.wait(_TICK):
                pass
        finally:
            server.stop()
        self._report.note("The server has stopped.")

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        def end(number: int, frame: FrameType | None) -> None:
            self._ended.set()

        before = {number: signal.signal(number, end) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
