"""Connections: to a Thrift server as dbt-spark's, or to a Spark session with Paimon's catalogs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dbt.adapters.contracts.connection import Connection, ConnectionState
from dbt.adapters.exceptions import FailedToConnectError
from dbt.adapters.spark.connections import SparkConnectionManager, SparkConnectionMethod, SparkCredentials
from dbt_common.exceptions import DbtRuntimeError

_ANSI = "spark.sql.ansi.enabled"
_STACK = re.compile(r"\n[ \t]*at \S+\(.*", re.DOTALL)
"""Java's stack, which the Thrift server sends with a message."""
_WRAPPER = re.compile(r"org\.apache\.hive\.service\.cli\.HiveSQLException: (?:Error running query: )?")


@dataclass
class PaimonCredentials(SparkCredentials):
    """A target of a profile.

    Attributes:
        catalog: the catalog of all schemas; by default the current one of the server or session.
        warehouse: with the method ``session``: the warehouse of the catalog ``paimon``. Without it the catalogs are
            those that Spark is configured with.
        spark_conf: with the method ``session``: Spark's settings.
        remote: with the method ``session``: the address of a Spark Connect server.
        poll_interval: the seconds after which a server is asked again whether a statement has ended.
    """

    host: str | None = None
    catalog: str | None = None
    warehouse: str | None = None
    spark_conf: dict[str, str] = field(default_factory=dict)
    remote: str | None = None
    poll_interval: float = 0.1

    def __post_init__(self) -> None:
        if self.method == SparkConnectionMethod.SESSION:
            self.host = self.host or self.remote or self.warehouse or "session"
        ansi = self.server_side_parameters.get(_ANSI)
        super().__post_init__()
        if ansi is not None:  # dbt-spark sets it for all
            self.server_side_parameters[_ANSI] = str(ansi)

    @property
    def type(self) -> str:
        """The name of the adapter in profiles."""
        return "paimon"

    def _connection_keys(self) -> tuple[str, ...]:
        return ("method", "host", "port", "remote", "warehouse", "catalog", "schema")


class PaimonConnectionManager(SparkConnectionManager):
    """Opens connections."""

    TYPE = "paimon"

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        """Raise dbt's error for an error of a statement, without the stack of the server."""
        try:
            with super().exception_handler(sql):
                yield
        except DbtRuntimeError as error:
            error.msg = _WRAPPER.sub("", _STACK.sub("", error.msg))
            raise

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Open a connection, in the catalog of its target."""
        if connection.state == ConnectionState.OPEN:
            return connection
        credentials = connection.credentials
        if credentials.method == SparkConnectionMethod.SESSION:
            from dbt.adapters.paimon.session import open_session

            try:
                connection.handle = open_session(credentials)
            except Exception as error:
                raise FailedToConnectError(str(error)) from error
            connection.state = ConnectionState.OPEN
        else:
            super().open(connection)
        if credentials.catalog:
            connection.handle.cursor().execute(f"SET CATALOG `{credentials.catalog}`")
        return connection
