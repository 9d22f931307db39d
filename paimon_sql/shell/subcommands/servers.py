"""``paimon-sql thriftserver`` and ``paimon-sql connect-server``: a server in a Spark of its own."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from paimon_sql.discovery import is_installed
from paimon_sql.errors import SetupError
from paimon_sql.shell.engine.report import Report
from paimon_sql.shell.setup import Setup
from paimon_sql.shell.subcommands.server_log import ServerLog
from paimon_sql.shell.subcommands.traces import check_exporter, sent_traces
from paimon_sql.sql.text.secrets import SECRETS_IN_JAVA

if TYPE_CHECKING:  # `serve` imports it
    from pyspark.sql import SparkSession

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SECRETS = {"spark.sql.redaction.string.regex": SECRETS_IN_JAVA}
"""Redaction of secrets: Spark's UI shows clients' statements, with the keys and passwords of CREATE CATALOG."""
_TICK = 0.2
"""Seconds between polls for a signal: Python handles one only while this thread runs."""


class Server(Protocol):
    """A running server."""

    @property
    def url(self) -> str:
        """The URL for clients."""

    def stop(self) -> None:
        """Stop it; the session remains."""


def thrift_server(
    host: str, port: int, given: Mapping[str, str], *, http: bool
) -> tuple[Callable[[SparkSession, Mapping[str, str]], Server], dict[str, str]]:
    """The Thrift server, and its options: those given win over its address."""
    from paimon_sql.spark.thrift.server import HOST, HTTP_PORT, PORT, TRANSPORT, ThriftServer

    address = {HOST: host, (HTTP_PORT if http else PORT): str(port), TRANSPORT: "http" if http else "binary"}
    return ThriftServer, {**address, **given}


def connect_server(
    host: str, port: int, given: Mapping[str, str], *, token: str | None
) -> tuple[Callable[[SparkSession, Mapping[str, str]], Server], dict[str, str]]:
    """The Spark Connect server, and its options: those given win over its address."""
    from paimon_sql.spark.connect.server import HOST, PORT, TOKEN, ConnectServer

    address = {HOST: host, PORT: str(port), **({} if token is None else {TOKEN: token})}
    return ConnectServer, {**address, **given}


def serve(
    setup: Setup,
    server_class: Callable[[SparkSession, Mapping[str, str]], Server],
    options: Mapping[str, str],
    log: ServerLog,
    report: Report,
    *,
    sends_traces: bool = False,
) -> None:
    """Start Spark and a server, and serve until SIGINT or SIGTERM.

    Args:
        setup: settings of the session that all clients share.
        server_class: the class of the server.
        options: the server's options.
        log: the log.
        report: for the address of the server, and its end.
        sends_traces: whether spans are sent by OTLP.

    Raises:
        SetupError: the library for spans is not installed.
    """
    if sends_traces:
        check_exporter()
    with log.running(), _ended_by_signal() as ended:
        session = replace(setup, conf=log.settings({**_SECRETS, **setup.conf})).start()
        try:
            if ended.is_set():
                return
            with sent_traces(session.sparkContext) if sends_traces else contextlib.nullcontext():
                server = server_class(session, options)
                report.note(f"Listening at {server.url}\nCtrl-C stops the server.")
                try:
                    while not ended.wait(_TICK):
                        pass
                finally:
                    server.stop()
            report.note("The server has stopped.")
        finally:
            session.stop()


def with_metrics(work: Callable[[], None], host: str, port: int, report: Report) -> None:
    """Serve metrics to Prometheus while some work runs.

    Args:
        work: the work.
        host: the address to listen on.
        port: the port.
        report: for the address.

    Raises:
        SetupError: the library is not installed, or the port is taken.
    """
    if not is_installed("prometheus_client"):
        raise SetupError("prometheus-client is not installed.", remedy="pip install 'paimon-sql[prometheus]'")
    from paimon_sql.observability.prometheus import serve as serve_metrics

    try:
        stop = serve_metrics(port, host)
    except OSError as error:
        raise SetupError(f"Metrics cannot be served at {host}:{port}: {error.strerror or error}.") from None
    try:
        report.note(f"Metrics are at http://{host}:{port}/metrics")
        work()
    finally:
        stop()


@contextlib.contextmanager
def _ended_by_signal() -> Iterator[threading.Event]:
    ended = threading.Event()
    before = {number: signal.signal(number, lambda _, __: ended.set()) for number in _SIGNALS}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
