"""Start of Spark: for the shell, and with the Thrift server for ``paimon-sql thriftserver``."""

from __future__ import annotations

import contextlib
import logging
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.errors import SetupError
from paimon_sql.shell.engine.report import Report
from paimon_sql.spark.session.class_archive import archive_of, record, recording_options
from paimon_sql.spark.session.connect import check_java
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


def serve(setup: Setup, options: Mapping[str, str], report: Report) -> None:
    """Start Spark and the server, and serve until SIGINT or SIGTERM.

    Args:
        setup: settings of the session that all connections share.
        options: the server's options.
        report: for the address of the server, and its end.
    """
    with _ended_by_signal() as ended:
        session = replace(setup, conf={**_SECRETS, **setup.conf}).start()
        try:
            if ended.is_set():
                return
            server = ThriftServer(session, options)
            report.note(f"Listening at {server.url}\nCtrl-C stops the server.")
            try:
                while not ended.wait(_TICK):
                    pass
            finally:
                server.stop()
            report.note("The server has stopped.")
        finally:
            session.stop()


def archive_classes(report: Report) -> None:
    """Start Spark once and archive the classes that it loads; later starts on this machine use them.

    Args:
        report: for the place of the archive.

    Raises:
        SetupError: the archive cannot be written.
    """
    archive = archive_of(check_java())
    try:
        archive.directory.mkdir(parents=True, exist_ok=True)
        archive.remove()  # a JVM that starts from an archive writes none
        with tempfile.TemporaryDirectory(dir=archive.directory) as directory:
            written = Path(directory, "classes.jsa")
            settings = {"spark.ui.enabled": "false", "spark.driver.extraJavaOptions": recording_options(written)}
            record(paimon_sql.connect(f"{directory}/warehouse", **settings))
            path = archive.replace(written)
    except OSError as error:
        raise SetupError(
            f"{archive.directory} cannot be written: {error}.", remedy="Set XDG_CACHE_HOME to a directory."
        ) from None
    report.note(f"Spark starts from {path} ({path.stat().st_size >> 20} MiB).")


@contextlib.contextmanager
def _ended_by_signal() -> Iterator[threading.Event]:
    ended = threading.Event()
    before = {number: signal.signal(number, lambda _, __: ended.set()) for number in _SIGNALS}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
