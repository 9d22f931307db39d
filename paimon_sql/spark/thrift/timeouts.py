"""Timeouts of connections to the Thrift server: short before authentication, long afterwards.

Hive's server waits forever for the first byte of a connection, and each waiting connection occupies a thread. A small
class in the JVM (decision 9) wraps the server's event handler: a connection starts with the login timeout, and gets the
timeout of idle sessions when its transport is open: for all kinds of authentication except ``NOSASL``, that is after
authentication.
"""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError

from paimon_sql.spark.jvm.gateway import Jvm, private_field

_THRIFT = "org.apache.thrift"
_TRANSPORT = f"{_THRIFT}.transport.TTransport"
_HANDLER = f"{_THRIFT}.server.TServerEventHandler"
_CONTEXT = f"{_THRIFT}.server.ServerContext"
_PROTOCOLS = f"{_THRIFT}.protocol.TProtocol input, {_THRIFT}.protocol.TProtocol output"
_CLASS = "io.github.paimon_sql.thrift.TimedConnections"
_LOGIN, _IDLE = "HIVE_SERVER2_THRIFT_LOGIN_TIMEOUT", "HIVE_SERVER2_IDLE_SESSION_TIMEOUT"
_MAX_MILLIS = 2**31 - 1
_FIELDS = (f"{_HANDLER} inner;", "Object service;", "int login;", "int idle;")
_METHODS = (
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
_CONSTRUCTOR = f"""public TimedConnections({_HANDLER} inner, Object service, int login, int idle) {{
    this.inner = inner; this.service = service; this.login = login; this.idle = idle; }}"""


def limit_connections(jvm: Jvm, frontend: Any, conf: Any) -> None:
    """Set timeouts of a server's connections; call this before the server starts.

    The options are ``hive.server2.thrift.login.timeout`` and ``hive.server2.idle.session.timeout``.

    Args:
        jvm: the JVM.
        frontend: Hive's service of the binary protocol.
        conf: the server's ``HiveConf``.
    """
    field, inner = private_field(frontend, "serverEventHandler")
    timed = jvm.constant(_CLASS, lambda: _class_of(jvm, inner))
    (constructor,) = timed.getConstructors()
    login, idle = (_millis(jvm, conf, name) for name in (_LOGIN, _IDLE))
    field.set(frontend, constructor.newInstance(jvm.array("java.lang.Object", [inner, frontend, login, idle])))


def _millis(jvm: Jvm, conf: Any, name: str) -> int:
    """A duration of Hive's options in milliseconds; 0 for none."""
    variable = jvm.enum("org.apache.hadoop.hive.conf.HiveConf$ConfVars", name)
    unit = jvm.enum("java.util.concurrent.TimeUnit", "MILLISECONDS")
    return max(0, min(_MAX_MILLIS, int(conf.getTimeVar(variable, unit))))


def _class_of(jvm: Jvm, inner: Any) -> Any:
    loader = inner.getClass().getClassLoader()
    try:
        return loader.loadClass(_CLASS)
    except Py4JJavaError as error:
        if error.java_exception.getClass().getSimpleName() != "ClassNotFoundException":
            raise
    pool = jvm.new("javassist.ClassPool", True)
    pool.appendClassPath(jvm.new("javassist.LoaderClassPath", loader))
    timed = pool.makeClass(_CLASS)
    timed.addInterface(pool.get(_HANDLER))
    for text in _FIELDS:
        timed.addField(jvm.cls("javassist.CtField").make(text, timed))
    timed.addConstructor(jvm.cls("javassist.CtNewConstructor").make(_CONSTRUCTOR, timed))
    for text in _METHODS:
        timed.addMethod(jvm.cls("javassist.CtNewMethod").make(text, timed))
    return timed.toClass(loader, None)
