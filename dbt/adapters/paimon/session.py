"""The method ``session``: statements run in a Spark session of dbt's process, or by Spark Connect."""

from __future__ import annotations

import threading
from typing import Any

from dbt.adapters.spark.session import Connection, Cursor, SessionConnectionWrapper
from dbt_common.exceptions import DbtRuntimeError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import paimon_sql
from dbt.adapters.paimon.connections import PaimonCredentials

_STARTING = threading.Lock()
"""dbt's threads connect at the same time, and one starts Spark."""


def open_session(credentials: PaimonCredentials) -> SessionWrapper:
    """A session of its own for each connection: settings and temporary views are not shared."""
    settings = {**credentials.spark_conf, **credentials.server_side_parameters}
    if credentials.remote:
        return SessionWrapper(SessionConnection(paimon_sql.connect(remote=credentials.remote, **settings), ends=True))
    with _STARTING:
        if credentials.warehouse:
            return SessionWrapper(SessionConnection(paimon_sql.connect(credentials.warehouse, **settings)))
        session = SparkSession.builder.config(map=dict(settings)).getOrCreate().newSession()
    for name, value in credentials.server_side_parameters.items():
        session.conf.set(name, value)
    return SessionWrapper(SessionConnection(paimon_sql.install(session)))


class SessionCursor(Cursor):
    """dbt-spark's cursor, with its own session."""

    def __init__(self, session: SparkSession) -> None:
        super().__init__()
        self._session = session

    def execute(self, sql: str, *parameters: Any) -> None:
        """Run a statement; the rows of a query are read by the methods that fetch them."""
        self._rows = None
        try:
            self._df = self._session.sql(sql % parameters if parameters else sql)
        except PySparkException as error:
            raise DbtRuntimeError(str(error)) from error


class SessionConnection(Connection):
    """A connection that is a session; ``ends`` if the session ends with it."""

    def __init__(self, session: SparkSession, *, ends: bool = False) -> None:
        super().__init__()
        self.session, self.ends = session, ends

    def cursor(self) -> SessionCursor:
        """A new cursor."""
        return SessionCursor(self.session)


class SessionWrapper(SessionConnectionWrapper):
    """What dbt asks of a connection."""

    handle: SessionConnection

    def cancel(self) -> None:
        """Interrupt the running statement of a Spark Connect server; Spark's own sessions cannot."""
        if self.handle.ends:
            self.handle.session.interruptAll()

    def close(self) -> None:
        """End the cursor, and a session of Spark Connect."""
        super().close()
        if self.handle.ends:
            self.handle.session.stop()
