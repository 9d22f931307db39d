"""Spark's Connect server in the JVM of a session: each client's session starts with its catalogs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from paimon_sql.errors import InvalidInputError, SetupError
from paimon_sql.spark.connect.statements import LoggedStatements
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.java.session import ClassicSession
from paimon_sql.spark.jvm.errors import root_message
from paimon_sql.spark.jvm.gateway import private_field
from paimon_sql.spark.jvm.proxy import subclass_instance
from paimon_sql.spark.session.bridge import Bridge
from paimon_sql.spark.statement_log import StatementLog

PREFIX = "spark.connect."
"""The prefix of the server's options."""

HOST, PORT, TOKEN = (f"{PREFIX}{name}" for name in ("grpc.binding.address", "grpc.binding.port", "authenticate.token"))
_STACKS = "spark.sql.connect.serverStacktrace.enabled"
"""Whether clients print the JVM's stack below each message; Spark's default is true."""

_LOOPBACK = "127.0.0.1"
_SERVICE = "org.apache.spark.sql.connect.service.SparkConnectService"


class ConnectServer:
    """A running server; a JVM can have one at a time.

    Args:
        session: the session whose catalogs and settings clients' sessions start with.
        options: Spark's options of the server by name, such as ``spark.connect.grpc.binding.port``. The server listens
            only on the loopback address unless ``spark.connect.grpc.binding.address`` is set.

    Raises:
        InvalidInputError: a name is not an option of the server.
        SetupError: the server did not start: the port is in use, an option is invalid, or the JVM has a server.
    """

    def __init__(self, session: SparkSession, options: Mapping[str, str]) -> None:
        if foreign := [name for name in options if not name.startswith(PREFIX)]:
            raise InvalidInputError(f"'{foreign[0]}' is not an option of the Connect server: names begin with {PREFIX}")
        self._bridge = Bridge.of(session.sparkContext)
        self._jvm = self._bridge.jvm
        self._base = session._jsparkSession
        self._service = self._jvm.singleton(_SERVICE)
        if self._service.started():
            raise SetupError("This JVM has a Connect server.", remedy="Stop it before another one starts.")
        self._settings = _Settings(self._base.sparkContext().conf(), {HOST: _LOOPBACK, _STACKS: "false"}, options)
        self._has_token = TOKEN in options
        try:
            self._start()
        except Py4JJavaError as error:
            self._settings.restore()
            raise SetupError(
                f"The Connect server did not start: {root_message(error.java_exception, str(error)).rstrip('.')}.",
                remedy=f"Check {HOST}, {PORT} and the other options.",
            ) from None
        self._statements = LoggedStatements(self._jvm, StatementLog("connect"))

    @property
    def host(self) -> str:
        """The address that the server listens on."""
        return str(self._service.bindingAddress().getAddress().getHostAddress())

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        return int(self._service.localPort())

    @property
    def url(self) -> str:
        """The URL for clients, without the token."""
        # Spark's client sends a token without TLS only to a host of this name.
        host = "localhost" if self._has_token and self.host == _LOOPBACK else self.host
        return f"sc://{host}:{self.port}"

    def stop(self) -> None:
        """End all clients' sessions and stop the server; the session remains."""
        _, sessions = private_field(self._service.sessionManager(), "sessionStore")
        for key in list(sessions.keySet()):
            self._service.sessionManager().closeSession(key, False)
        self._service.stop(self._jvm.none, self._jvm.none)
        self._statements.stop()
        self._settings.restore()

    def _start(self) -> None:
        manager = self._service.sessionManager()
        # Otherwise clients' sessions come from the default session, which need not be this one.
        private_field(manager, "_baseSession")[0].set(manager, self._jvm.some(self._base))
        field, _ = private_field(manager, "sessionStore")
        sessions = subclass_instance(self._jvm, "java.util.concurrent.ConcurrentHashMap", {"remove": self._remove})
        field.set(manager, sessions)
        self._service.start(self._base.sparkContext())

    def _remove(self, sessions: JavaObject, arguments: Sequence[object], proceed: Callable[[], object]) -> object:
        """Detach the catalogs of a session that ends."""
        holder = cast("JavaObject | None", proceed())
        if holder is not None and len(arguments) == 1:
            self._bridge.forget(cast(ClassicSession, holder.session()))
        return holder


class _Settings:
    """The server's options, which it reads from the settings of the running Spark; not from those of a session.

    They are not passed to the JVM at its start, where all users of the machine could read the token.
    """

    def __init__(self, conf: JavaObject, defaults: Mapping[str, str], options: Mapping[str, str]) -> None:
        self._conf = conf
        options = {key: value for key, value in defaults.items() if not conf.contains(key)} | dict(options)
        self._before = {key: conf.get(key) if conf.contains(key) else None for key in options}
        for key, value in options.items():
            conf.set(key, value)

    def restore(self) -> None:
        """Restore the settings from before."""
        for key, value in self._before.items():
            if value is None:
                self._conf.remove(key)
            else:
                self._conf.set(key, value)
