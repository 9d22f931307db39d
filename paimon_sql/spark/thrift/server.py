"""Spark's Thrift server inside the JVM of a session: each connection is a session of its own with the same catalogs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from tempfile import TemporaryDirectory
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from paimon_sql.errors import InvalidInputError, SetupError
from paimon_sql.spark.jvm.gateway import Jvm, private_field
from paimon_sql.spark.jvm.subclass import subclass_instance
from paimon_sql.spark.session.bridge import Bridge
from paimon_sql.spark.thrift.operations import operation_manager
from paimon_sql.spark.thrift.timeouts import limit_connections

PREFIX = "hive."
"""How the names of the server's own options begin."""

HOST, PORT, HTTP_PORT, TRANSPORT = (
    f"hive.server2.{name}" for name in ("thrift.bind.host", "thrift.port", "thrift.http.port", "transport.mode")
)
_LOGS = "hive.server2.logging.operation.log.location"
"""Hive's own default is a folder of the user, which the first server that ends removes under all others."""

_SCRATCH = "hive.exec.local.scratchdir"
"""Hive's own default is a folder that may not be there; a session that ends then reports an error in the log."""

_THREADS = "hive.server2.async.exec.threads"
_MOST_STATEMENTS = "32"
"""Statements that run at once; others wait. Each thread has one more in Python as long as the server runs."""

_WHO_MAY_CONNECT = ("hive.server2.authentication.", "hive.server2.custom.authentication.")
"""What checks names and passwords takes its options from the JVM's properties, as they are for the whole process."""

_LOOPBACK = "127.0.0.1"
_HOST_OF_ENVIRONMENT = "HIVE_SERVER2_THRIFT_BIND_HOST"
_BINARY = "ThriftBinaryCLIService"
_SERVER = "org.apache.spark.sql.hive.thriftserver"


class ThriftServer:
    """A running server.

    Args:
        session: the session whose catalogs and settings connections start with.
        options: Hive's options of the server by their names, ``hive.server2.thrift.port`` and so on. It listens on
            this machine alone unless ``hive.server2.thrift.bind.host`` says otherwise.

    Raises:
        InvalidInputError: a name is no option of Hive's.
        SetupError: the server did not start, because the port is taken or an option cannot be right.
    """

    def __init__(self, session: SparkSession, options: Mapping[str, str] | None = None) -> None:
        if foreign := [name for name in options or {} if not name.startswith(PREFIX)]:
            raise InvalidInputError(f"'{foreign[0]}' is no option of the Thrift server: they begin with {PREFIX}")
        self._bridge = Bridge.of(session.sparkContext)
        self._jvm = self._bridge.jvm
        self._logs = TemporaryDirectory(prefix="paimon-sql-operations-", ignore_cleanup_errors=True)
        self._scratch = TemporaryDirectory(prefix="paimon-sql-scratch-", ignore_cleanup_errors=True)
        self._of_process = [name for name in options or {} if name.startswith(_WHO_MAY_CONNECT)]
        try:
            self._server = self._start(session._jsparkSession, options or {})
        except Py4JJavaError as error:
            self._clean_up()
            raise SetupError(
                f"The Thrift server did not start: {_root_message(error.java_exception)}.",
                remedy=f"Look at {HOST}, {PORT} and the other options that were given.",
            ) from None
        _, self._frontend = private_field(self._server, "thriftCLIService")

    @property
    def host(self) -> str:
        """The address it listens at."""
        return str(self._frontend.getServerIPAddress().getHostAddress())

    @property
    def port(self) -> int:
        """The port it listens at."""
        return int(self._frontend.getPortNumber())

    @property
    def url(self) -> str:
        """What a JDBC client connects to, without what it must say about itself."""
        conf = self._frontend.getHiveConf()
        url = f"jdbc:hive2://{self.host}:{self.port}/default"
        if conf.get(TRANSPORT, "binary").lower() == "http":
            url += f";transportMode=http;httpPath={conf.get('hive.server2.thrift.http.path', 'cliservice')}"
        return url

    def stop(self) -> None:
        """Close all connections and end the server; the session stays."""
        self._server.stop()
        self._clean_up()

    def _clean_up(self) -> None:
        self._logs.cleanup()
        self._scratch.cleanup()
        for name in self._of_process:
            self._jvm.static("java.lang.System", "clearProperty")(name)

    def _start(self, session: Any, options: Mapping[str, str]) -> Any:
        jvm = self._jvm
        context = session.sparkContext()
        hive = jvm.singleton("org.apache.spark.sql.hive.HiveUtils")
        client = hive.newClientForExecution(context.conf(), session.sessionState().newHadoopConf())
        # Clients may share theirs, and another server may run with other options.
        conf = jvm.new("org.apache.hadoop.hive.conf.HiveConf", client.conf())
        own = {_LOGS: self._logs.name, _SCRATCH: self._scratch.name, _THREADS: _MOST_STATEMENTS}
        if not conf.get(HOST, "") and not os.environ.get(_HOST_OF_ENVIRONMENT):
            own[HOST] = _LOOPBACK  # Hive's default is everywhere
        for name, value in (own | dict(options)).items():
            conf.set(name, value)
        for name in self._of_process:
            jvm.static("java.lang.System", "setProperty")(name, options[name])
        server = jvm.new(f"{_SERVER}.HiveThriftServer2", session)
        server.init(conf)
        self._take_over(server, conf)
        _, frontend = private_field(server, "thriftCLIService")
        if frontend.getClass().getSimpleName() == _BINARY:
            limit_connections(jvm, frontend, conf)
        companion = jvm.singleton(f"{_SERVER}.HiveThriftServer2")
        # A trouble of the server must not end the process it is part of.
        companion.systemExitOnError().set(False)
        _listen(jvm, companion, server, context)
        try:
            server.start()
        except Py4JJavaError:
            server.stop()
            raise
        return server

    def _take_over(self, server: Any, conf: Any) -> None:
        """Put our operations in the place of Spark's, before the first connection can come."""
        jvm = self._jvm
        _, service = private_field(server, "cliService")
        _, manager = private_field(service, "sessionManager")
        field, old = private_field(manager, "sparkSqlOperationManager")

        def closed(sessions: Any, arguments: Any, proceed: Any) -> Any:
            session = proceed()
            gone = session if session is not None else refused(sessions)
            if gone is not None and len(arguments) == 1 and gone.sessionUUID() != own:
                self._bridge.forget(gone)
            return session

        def refused(sessions: Any) -> Any:
            # A connection to a database that is not there ends before its session stands among the others.
            newest = self._bridge.newest_of_thread()
            return None if newest is None or sessions.containsValue(newest) else newest

        _, root = private_field(server, "sparkSession")
        own = root.sessionUUID()
        sessions = subclass_instance(jvm, "java.util.concurrent.ConcurrentHashMap", {"remove": closed})
        new = operation_manager(self._bridge, sessions)
        new.init(conf)
        field.set(manager, new)
        private_field(manager, "operationManager")[0].set(manager, new)
        _, services = private_field(manager, "serviceList")
        services.set(services.indexOf(old), new)


def _listen(jvm: Jvm, companion: Any, server: Any, context: Any) -> None:
    """Let the server's events be seen in Spark's UI; Spark would do so only once it serves already."""
    method = next(m for m in companion.getClass().getDeclaredMethods() if m.getName() == "createListenerAndUI")
    method.setAccessible(True)
    method.invoke(companion, jvm.array("java.lang.Object", [server, context]))

    def ended(events: Any, arguments: Any, proceed: Any) -> None:
        proceed()
        # A statement may start one job after the other; Spark itself cancels those that run.
        context.cancelJobGroupAndFutureJobs(arguments[0])

    methods = {"onStatementCanceled": ended, "onStatementTimeout": ended}
    events = subclass_instance(jvm, f"{_SERVER}.ui.HiveThriftServer2EventManager", methods, context)
    getattr(companion, "eventManager_$eq")(events)


def _root_message(error: Any) -> str:
    while error.getCause() is not None:
        error = error.getCause()
    return str(error.getMessage() or error.toString()).rstrip(".")
