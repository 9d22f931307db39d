"""Spark's Thrift server in the JVM of a session: a new session per connection, and timeouts of connections."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import cast

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from paimon_sql.errors import InvalidInputError, SetupError
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.java.session import ClassicSession
from paimon_sql.spark.jvm.errors import root_message
from paimon_sql.spark.jvm.gateway import Jvm, private_field
from paimon_sql.spark.jvm.proxy import subclass_instance, telling_instance
from paimon_sql.spark.session.bridge import Bridge
from paimon_sql.spark.statement_log import StatementLog
from paimon_sql.spark.thrift.calls import operation_manager
from paimon_sql.spark.thrift.statements import EVENTS, StatementOperations

PREFIX = "hive."
"""The prefix of the server's options."""

HOST, PORT, HTTP_PORT, TRANSPORT = (
    f"hive.server2.{name}" for name in ("thrift.bind.host", "thrift.port", "thrift.http.port", "transport.mode")
)
_LOGS = "hive.server2.logging.operation.log.location"
"""Hive's default is a directory of the user, which the first server to stop deletes for all others."""

_SCRATCH = "hive.exec.local.scratchdir"
"""Hive's default is a directory that may not exist; then a closing session logs an error."""

_THREADS = "hive.server2.async.exec.threads"
_MAX_STATEMENTS = "32"
"""The maximum number of concurrent statements; each of these threads has a thread in Python while the server runs."""

_AUTHENTICATION = ("hive.server2.authentication.", "hive.server2.custom.authentication.")
"""Options of authenticators, which read them from the JVM's system properties, so they apply to the whole process."""

_LOOPBACK = "127.0.0.1"
_HOST_VARIABLE = "HIVE_SERVER2_THRIFT_BIND_HOST"
_BINARY = "ThriftBinaryCLIService"
_SERVER = "org.apache.spark.sql.hive.thriftserver"
_CANCELLING = ("onStatementCanceled", "onStatementTimeout")


class ThriftServer:
    """A running server.

    Args:
        session: the session whose catalogs and settings connections start with.
        options: Hive's options of the server by name, such as ``hive.server2.thrift.port``. The server listens only on
            the loopback address unless ``hive.server2.thrift.bind.host`` is set.

    Raises:
        InvalidInputError: a name is not an option of Hive.
        SetupError: the server did not start, because the port is in use or an option is invalid.
    """

    def __init__(self, session: SparkSession, options: Mapping[str, str]) -> None:
        if foreign := [name for name in options if not name.startswith(PREFIX)]:
            raise InvalidInputError(f"'{foreign[0]}' is not an option of the Thrift server: names begin with {PREFIX}")
        self._bridge = Bridge.of(session.sparkContext)
        self._jvm = self._bridge.jvm
        self._logs = TemporaryDirectory(prefix="paimon-sql-operations-", ignore_cleanup_errors=True)
        self._scratch = TemporaryDirectory(prefix="paimon-sql-scratch-", ignore_cleanup_errors=True)
        self._process_options = [name for name in options if name.startswith(_AUTHENTICATION)]
        try:
            self._server = self._start(session._jsparkSession, options)
        except Py4JJavaError as error:
            self._clean_up()
            raise SetupError(
                f"The Thrift server did not start: {root_message(error.java_exception, str(error)).rstrip('.')}.",
                remedy=f"Check {HOST}, {PORT} and the other options.",
            ) from None
        _, self._frontend = private_field(self._server, "thriftCLIService")

    @property
    def host(self) -> str:
        """The address that the server listens on."""
        return str(self._frontend.getServerIPAddress().getHostAddress())

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        return int(self._frontend.getPortNumber())

    @property
    def url(self) -> str:
        """The URL for JDBC clients, without credentials."""
        conf = self._frontend.getHiveConf()
        url = f"jdbc:hive2://{self.host}:{self.port}/default"
        if conf.get(TRANSPORT, "binary").lower() == "http":
            url += f";transportMode=http;httpPath={conf.get('hive.server2.thrift.http.path', 'cliservice')}"
        return url

    def stop(self) -> None:
        """Close all connections and stop the server; the session remains."""
        self._server.stop()
        self._clean_up()

    def _clean_up(self) -> None:
        self._logs.cleanup()
        self._scratch.cleanup()
        for name in self._process_options:
            self._jvm.static("java.lang.System", "clearProperty")(name)

    def _start(self, session: ClassicSession, options: Mapping[str, str]) -> JavaObject:
        jvm = self._jvm
        context = session.sparkContext()
        hive = jvm.singleton("org.apache.spark.sql.hive.HiveUtils")
        client = hive.newClientForExecution(context.conf(), session.sessionState().newHadoopConf())
        # A copy: clients may share the configuration, and another server may run with other options.
        conf = jvm.new("org.apache.hadoop.hive.conf.HiveConf", client.conf())
        defaults = {_LOGS: self._logs.name, _SCRATCH: self._scratch.name, _THREADS: _MAX_STATEMENTS}
        if not conf.get(HOST, "") and not os.environ.get(_HOST_VARIABLE):
            defaults[HOST] = _LOOPBACK  # Hive's default is all interfaces
        for name, value in (defaults | dict(options)).items():
            conf.set(name, value)
        for name in self._process_options:
            jvm.static("java.lang.System", "setProperty")(name, options[name])
        server = jvm.new(f"{_SERVER}.HiveThriftServer2", session)
        server.init(conf)
        statements = StatementOperations(jvm, StatementLog("thrift"))
        self._replace_operations(server, conf, statements)
        _, frontend = private_field(server, "thriftCLIService")
        if frontend.getClass().getSimpleName() == _BINARY:
            limit_connections(jvm, frontend, conf)
        companion = jvm.singleton(f"{_SERVER}.HiveThriftServer2")
        # An error of the server must not end the process.
        companion.systemExitOnError().set(False)
        _listen(jvm, companion, server, context, statements)
        try:
            server.start()
        except Py4JJavaError:
            server.stop()
            raise
        return server

    def _replace_operations(self, server: JavaObject, conf: JavaObject, statements: StatementOperations) -> None:
        """Replace Spark's operations by ours, before the server accepts connections."""
        jvm = self._jvm
        _, service = private_field(server, "cliService")
        _, manager = private_field(service, "sessionManager")
        field, old = private_field(manager, "sparkSqlOperationManager")

        def closed(sessions: JavaObject, arguments: Sequence[object], proceed: Callable[[], object]) -> object:
            session = proceed()
            closed_session = refused(sessions) if session is None else cast(ClassicSession, session)
            if closed_session is not None and len(arguments) == 1 and closed_session.sessionUUID() != root_id:
                self._bridge.forget(closed_session)
            return session

        def refused(sessions: JavaObject) -> ClassicSession | None:
            # A connection to a missing database is closed before its session is in the map.
            newest = self._bridge.newest_of_thread()
            return None if newest is None or sessions.containsValue(newest) else newest

        root_id = private_field(server, "sparkSession")[1].sessionUUID()
        sessions = subclass_instance(jvm, "java.util.concurrent.ConcurrentHashMap", {"remove": closed})
        new = operation_manager(self._bridge, sessions, statements.create)
        new.init(conf)
        field.set(manager, new)
        private_field(manager, "operationManager")[0].set(manager, new)
        _, services = private_field(manager, "serviceList")
        services.set(services.indexOf(old), new)


def _listen(
    jvm: Jvm, companion: JavaObject, server: JavaObject, context: JavaObject, statements: StatementOperations
) -> None:
    """Register the server's events in Spark's UI, which Spark itself would do only after the server has started.

    Args:
        jvm: the JVM.
        companion: the Scala object of the server's class.
        server: the server.
        context: the Spark context.
        statements: what the event manager tells how statements end.
    """
    method = next(m for m in companion.getClass().getDeclaredMethods() if m.getName() == "createListenerAndUI")
    method.setAccessible(True)
    method.invoke(companion, jvm.objects([server, context]))

    def ended(event: str, statement_id: str) -> None:
        statements.ended(event, statement_id)
        if event in _CANCELLING:
            # A statement may start more jobs afterwards; Spark itself cancels only the running ones.
            context.cancelJobGroupAndFutureJobs(statement_id)

    manager = telling_instance(jvm, f"{_SERVER}.ui.HiveThriftServer2EventManager", EVENTS, ended, context)
    getattr(companion, "eventManager_$eq")(manager)


_THRIFT = "org.apache.thrift"
_TRANSPORT = f"{_THRIFT}.transport.TTransport"
_HANDLER = f"{_THRIFT}.server.TServerEventHandler"
_CONTEXT = f"{_THRIFT}.server.ServerContext"
_PROTOCOLS = f"{_THRIFT}.protocol.TProtocol input, {_THRIFT}.protocol.TProtocol output"
_CLASS = "io.github.paimon_sql.thrift.TimedConnections"
_LOGIN, _IDLE = "HIVE_SERVER2_THRIFT_LOGIN_TIMEOUT", "HIVE_SERVER2_IDLE_SESSION_TIMEOUT"
_MAX_MILLIS = 2**31 - 1
_MEMBERS = (
    f"public {_HANDLER} inner;",
    "public Object service;",
    "public int login;",
    "public int idle;",
    # The server and its socket do not exist before it begins to serve.
    f"""public void preServe() {{
        try {{
            java.lang.reflect.Field field = service.getClass().getDeclaredField("server");
            field.setAccessible(true);
            Object server = field.get(service);
            field = {_THRIFT}.server.TServer.class.getDeclaredField("serverTransport_");
            field.setAccessible(true);
            Object socket = field.get(server);
            field = {_THRIFT}.transport.TServerSocket.class.getDeclaredField("clientTimeout_");
            field.setAccessible(true);
            field.setInt(socket, login);
        }} catch (ReflectiveOperationException error) {{
            throw new IllegalStateException(error);
        }}
        inner.preServe();
    }}""",
    # Transports with authentication wrap that of the socket; their classes and fields are not public.
    f"""public {_CONTEXT} createContext({_PROTOCOLS}) {{
        try {{
            {_TRANSPORT} transport = input.getTransport();
            while (transport != null && !(transport instanceof {_THRIFT}.transport.TSocket)) {{
                {_TRANSPORT} inside = null;
                for (Class kind = transport.getClass(); kind != null && inside == null; kind = kind.getSuperclass()) {{
                    java.lang.reflect.Field[] fields = kind.getDeclaredFields();
                    for (int i = 0; i < fields.length && inside == null; i++) {{
                        if (fields[i].getType() == {_TRANSPORT}.class) {{
                            fields[i].setAccessible(true);
                            inside = ({_TRANSPORT}) fields[i].get(transport);
                        }}
                    }}
                }}
                transport = inside;
            }}
            if (transport != null)
                (({_THRIFT}.transport.TSocket) transport).setTimeout(idle);
        }} catch (ReflectiveOperationException error) {{
            throw new IllegalStateException(error);
        }}
        return inner.createContext(input, output);
    }}""",
    f"""public void deleteContext({_CONTEXT} context, {_PROTOCOLS}) {{
        inner.deleteContext(context, input, output); }}""",
    f"""public void processContext({_CONTEXT} context, {_THRIFT}.transport.TTransport input,
        {_THRIFT}.transport.TTransport output) {{ inner.processContext(context, input, output); }}""",
)


def limit_connections(jvm: Jvm, frontend: JavaObject, conf: JavaObject) -> None:
    """Set timeouts of a server's connections; call this before the server starts.

    Hive's server waits forever for the first byte of a connection, and each waiting connection occupies a thread. A
    small class in the JVM (decision 9) wraps the server's event handler: a connection starts with the login timeout,
    and gets the timeout of idle sessions when its transport is open: for all kinds of authentication except ``NOSASL``,
    that is after authentication.

    The options are ``hive.server2.thrift.login.timeout`` and ``hive.server2.idle.session.timeout``.

    Args:
        jvm: the JVM.
        frontend: Hive's service of the binary protocol.
        conf: the server's ``HiveConf``.
    """
    field, inner = private_field(frontend, "serverEventHandler")
    timed = jvm.compiled_class(_CLASS, _MEMBERS, beside=str(inner.getClass().getName()), interfaces=[_HANDLER])
    login, idle = (_millis(jvm, conf, name) for name in (_LOGIN, _IDLE))
    field.set(frontend, jvm.compiled_object(timed, inner=inner, service=frontend, login=login, idle=idle))


def _millis(jvm: Jvm, conf: JavaObject, name: str) -> int:
    """A duration of Hive's options in milliseconds; 0 for none."""
    variable = jvm.enum("org.apache.hadoop.hive.conf.HiveConf$ConfVars", name)
    unit = jvm.enum("java.util.concurrent.TimeUnit", "MILLISECONDS")
    return max(0, min(_MAX_MILLIS, int(conf.getTimeVar(variable, unit))))
