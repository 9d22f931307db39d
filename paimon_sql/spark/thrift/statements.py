"""Statements of the Thrift server: their log, and errors that are one message.

Spark answers a failed statement with its stack traces. A small class in the JVM (decision 9) replaces the errors of
Spark's own operation by ones without, and counts the rows of its result.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.messages import message_of
from paimon_sql.spark.jvm.proxy import ScalaFunction
from paimon_sql.spark.statement_log import LOG, Statement, StatementLog

_SPARK = "org.apache.spark.sql.hive.thriftserver"
_CLI = "org.apache.hive.service.cli"
_PARENT = f"{_SPARK}.SparkExecuteStatementOperation"
_ITERATOR = f"{_SPARK}.ArrayFetchIterator"
_EXCEPTION = f"{_CLI}.HiveSQLException"
_MANAGER = f"{_SPARK}.server.SparkSQLOperationManager"
_SESSION = "org.apache.spark.sql.classic.SparkSession"
_ASYNC = "spark.sql.hive.thriftServer.async"
_OURS = "io.github.paimon_sql.thrift"
_OPERATION, _ERROR = f"{_OURS}.StatementOperation", f"{_OURS}.StatementError"
_PREFIX = "Error running query"
"""What Spark puts before messages, unless a session wants errors as JSON."""
_PARAMETERS = (
    f"{_SESSION} session, {_CLI}.session.HiveSession connection, String text,"
    " java.util.Map overlay, boolean background, long timeout"
)
_OPERATION_MEMBERS = (
    "public scala.Function2 shorten;",
    f"""public StatementOperation({_PARAMETERS}) {{
        super(session, connection, text, overlay, background, timeout); }}""",
    # One call: each of what it asks would be one from Python, for every statement.
    f"""public static {_OPERATION} create({_MANAGER} manager, Object[] given, scala.Function2 shorten)
            throws {_EXCEPTION} {{
        {_CLI}.session.HiveSession connection = ({_CLI}.session.HiveSession) given[0];
        boolean background = ((Boolean) given[3]).booleanValue();
        {_SESSION} session = ({_SESSION}) manager.sessionToContexts().get(connection.getSessionHandle());
        if (session == null)
            throw new {_EXCEPTION}("The connection is closed.");
        boolean async = background && Boolean.parseBoolean(session.conf().get("{_ASYNC}", "true"));
        {_OPERATION} made = new {_OPERATION}(session, connection, (String) given[1], (java.util.Map) given[2], async,
            ((Long) given[4]).longValue());
        made.shorten = shorten;
        manager.handleToOperation().put(made.getHandle(), made);
        return made;
    }}""",
    """public String about() {
        Object client = getParentSession().getIpAddress();
        return statementId() + "\\n" + getParentSession().getSessionHandle().getHandleIdentifier() + "\\n"
            + (client == null ? "" : client) + "\\n" + getParentSession().getUserName() + "\\n" + getStatement();
    }""",
    # A statement in the background sets its error, any other one throws it.
    f"""protected void setOperationException({_EXCEPTION} error) {{
        super.setOperationException(({_EXCEPTION}) shorten.apply(statementId(), error)); }}""",
    f"""public void runInternal() throws {_EXCEPTION} {{
        try {{
            super.runInternal();
        }} catch ({_EXCEPTION} error) {{
            throw ({_EXCEPTION}) shorten.apply(statementId(), error);
        }}
    }}""",
    # Rows that are collected as the client fetches them are not counted.
    f"""public long rows() {{
        try {{
            java.lang.reflect.Field field = {_PARENT}.class.getDeclaredField("iter");
            field.setAccessible(true);
            Object rows = field.get(this);
            if (!(rows instanceof {_ITERATOR}))
                return -1L;
            field = {_ITERATOR}.class.getDeclaredField("src");
            field.setAccessible(true);
            return (long) java.lang.reflect.Array.getLength(field.get(rows));
        }} catch (ReflectiveOperationException error) {{
            return -1L;
        }}
    }}""",
)
_ERROR_MEMBERS = (
    """public StatementError(String message, String state) {
        super(message, state);
        setStackTrace(new StackTraceElement[0]);
    }""",
    # Clients that ask for the state of a statement get this.
    "public void printStackTrace(java.io.PrintWriter writer) { writer.print(getMessage()); }",
    """public org.apache.hive.service.rpc.thrift.TStatus toTStatus() {
        org.apache.hive.service.rpc.thrift.TStatus status = super.toTStatus();
        status.setInfoMessages(null);
        return status;
    }""",
)
_FINISH = "onStatementFinish"
_ENDS = {"onStatementCanceled": "canceled", "onStatementTimeout": "timed out", "onOperationClosed": "closed"}
EVENTS = (_FINISH, *_ENDS)
"""The methods of the server's event manager that tell how statements end."""


class StatementOperations:
    """Creates the operations of a server's statements, and logs these.

    Args:
        jvm: the JVM.
        log: the log.
    """

    def __init__(self, jvm: Jvm, log: StatementLog) -> None:
        self._jvm = jvm
        self._log = log
        self._shorten = ScalaFunction(jvm, self._failed)
        self._operations: dict[str, JavaObject] = {}

    def create(self, manager: JavaObject, arguments: Sequence[object], _: object) -> JavaObject:
        """The manager's ``newExecuteStatementOperation``."""
        self._jvm.compiled_class(_OPERATION, _OPERATION_MEMBERS, beside=_PARENT, parent=_PARENT)
        operation = self._jvm.static(_OPERATION, "create")(manager, arguments, self._shorten)
        statement_id, session, client, user, text = str(operation.about()).split("\n", 4)
        self._operations[statement_id] = operation
        self._log.started(statement_id, Statement(text, session, user, client or None))
        return operation

    def ended(self, event: str, statement_id: str) -> None:
        """A statement ends by one of `EVENTS`; failures are told by the errors."""
        operation = self._operations.pop(statement_id, None)
        if event != _FINISH:
            self._log.canceled(statement_id, _ENDS[event])
            return
        rows = -1 if operation is None else int(operation.rows())
        self._log.finished(statement_id, None if rows < 0 else rows)

    def _failed(self, statement_id: str, error: JavaObject) -> JavaObject:
        """The error for the client: without stack traces."""
        self._operations.pop(statement_id, None)
        given, cause = str(error.getMessage() or error.toString()), error.getCause()
        message = message_of(cause) if cause is not None and given.startswith(_PREFIX) else given
        stack = ""
        if LOG.isEnabledFor(logging.DEBUG):
            stack = str(self._jvm.static("org.apache.spark.util.Utils", "stringifyException")(error))
        self._log.failed(statement_id, message, stack)
        made = self._jvm.compiled_class(_ERROR, _ERROR_MEMBERS, beside=_EXCEPTION, parent=_EXCEPTION)
        return made.getConstructors()[0].newInstance(self._jvm.objects([message, error.getSQLState()]))
