"""The driver (PEP 249): PyHive's connections, with values of Python's types, errors of one line, and metadata calls.

PyHive's connection, which is a session of the server, and its client of Hive's protocol are used. Its own cursor
changes values of parameters, raises the server's whole answer as an error, and returns dates as strings.
"""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias

from pyhive import hive
from pyhive.exc import (
    DatabaseError,
    DataError,
    Error,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
)
from TCLIService import ttypes
from thrift.Thrift import TException
from thrift.transport.THttpClient import THttpClient
from thrift.transport.TSocket import TSocket
from thrift.transport.TSSLSocket import TSSLSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportBase
from thrift_sasl import TSaslClientTransport

from paimon_sql.sql.text.names import quote_name
from paimon_sql.sqlalchemy.literals import literal

__all__ = [
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "LostConnectionError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]

apilevel = "2.0"
threadsafety = 1
paramstyle = "pyformat"
Binary = bytes

Row: TypeAlias = tuple[object, ...]
Parameters: TypeAlias = Mapping[str, object] | Sequence[object]
_ROWS_PER_FETCH = 10_000
_GUID_BYTES = 16
_UNFINISHED = (
    ttypes.TOperationState.INITIALIZED_STATE,
    ttypes.TOperationState.PENDING_STATE,
    ttypes.TOperationState.RUNNING_STATE,
)
_PAUSE = 0.02
"""Seconds between two questions for the state of a statement; the server answers late while it runs."""


class IntegrityError(DatabaseError):
    """A row violates a constraint."""


class LostConnectionError(OperationalError):
    """The server cannot be reached, or does not know the session any more."""


class Connection(hive.Connection):
    """A session of the server.

    Args:
        host: the server.
        port: its port.
        username: the user; by default that of the operating system.
        password: the password; the server then has to authenticate (``auth`` is LDAP).
        catalog: the current catalog; by default that of the server's sessions.
        database: the current database; by default that of the catalog.
        auth: how the server authenticates: NONE, NOSASL, LDAP, CUSTOM or KERBEROS.
        kerberos_service_name: the service of KERBEROS.
        http_path: the path of a server that speaks HTTP; by default it speaks the binary protocol.
        tls: whether the connection is encrypted.
        tls_ca: a file with the certificates to trust; by default those of the system.
        settings: settings of Spark for the session.

    Raises:
        LostConnectionError: the server does not answer, or refuses the user.
    """

    def __init__(
        self,
        host: str = "localhost",
        port: int = 10000,
        *,
        username: str | None = None,
        password: str | None = None,
        catalog: str | None = None,
        database: str | None = None,
        auth: str | None = None,
        kerberos_service_name: str = "hive",
        http_path: str | None = None,
        tls: bool = False,
        tls_ca: str | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        context = ssl.create_default_context(cafile=tls_ca) if tls else None
        auth = auth or ("NONE" if password is None else "LDAP")
        if http_path is not None:
            transport = _http(host, port, http_path, context, username, password)
        else:
            transport = _binary(host, port, context, auth, kerberos_service_name, username, password)
        names = [quote_name(name) for name in (catalog, database) if name] or [quote_name("default")]
        try:
            super().__init__(
                thrift_transport=transport,
                username=username,
                # PyHive writes the back-quotes at both ends itself.
                database=".".join(names)[1:-1],
            )
        except (TException, OSError) as error:
            raise LostConnectionError(f"{host}:{port}: {_message_of(error)}") from error
        try:
            # Hive's protocol has a configuration of a session, but the server's own settings would win.
            for name, value in (settings or {}).items():
                self.cursor().execute(f"SET {quote_name(name)}={quote_name(value)}")
        except Error:
            self.terminate()
            raise

    def cursor(self) -> Cursor:
        """Return a new cursor; all cursors share the session."""
        return Cursor(self, _ROWS_PER_FETCH)

    def rollback(self) -> None:
        """Do nothing: each statement is a transaction."""

    def terminate(self) -> None:
        """Close the connection without a word to the server, which then ends the session and cancels its statement."""
        self._transport.close()

    def call(self, name: str, **arguments: str | list[str] | None) -> list[Row]:
        """Return the rows of one of JDBC's metadata calls.

        Args:
            name: the call in Hive's protocol, such as ``GetTables``.
            arguments: its arguments there, such as ``schemaName``.
        """
        cursor = self.cursor()
        try:
            cursor.call(name, **arguments)
            found: list[Row] = cursor.fetchall()
            return found
        finally:
            cursor.close()


connect = Connection


class Cursor(hive.Cursor):
    """A statement and its rows."""

    def execute(self, operation: str, parameters: Parameters | None = None) -> None:
        """Run a statement to its end.

        Args:
            operation: the statement.
            parameters: values for its ``%(name)s`` or ``%s``. A statement without parameters may have percent signs.

        Raises:
            Error: the statement failed; the class is that of the server's SQLSTATE.
        """
        self.start(operation, parameters)
        self.wait()

    def start(self, operation: str, parameters: Parameters | None = None) -> None:
        """Begin to run a statement; arguments are those of `execute`. `wait` must follow before its rows are read.

        Raises:
            Error: the server does not take it.
        """
        text = operation if parameters is None else _filled_in(operation, parameters)
        self._begin("ExecuteStatement", ttypes.TExecuteStatementReq(self._session, text, runAsync=True))

    def wait(self) -> None:
        """Wait for the end of the statement.

        Raises:
            Error: it failed or was cancelled; the class is that of the server's SQLSTATE.
        """
        request = ttypes.TGetOperationStatusReq(self._operationHandle)
        while (answer := self._ask("GetOperationStatus", request)).operationState in _UNFINISHED:
            time.sleep(_PAUSE)
        if answer.operationState == ttypes.TOperationState.CANCELED_STATE:
            raise OperationalError("The statement was cancelled.")
        if answer.operationState != ttypes.TOperationState.FINISHED_STATE:
            raise _error(answer.errorMessage, answer.sqlState)

    @property
    def statement_id(self) -> str:
        """The id by which `cancel_statement` of any connection to the server cancels the statement."""
        identifier = self._operationHandle.operationId
        return str((identifier.guid + identifier.secret).hex())

    def cancel_statement(self, statement_id: str) -> None:
        """Cancel a statement that another cursor runs.

        Raises:
            Error: the server does not know it, or not any more.
        """
        data = bytes.fromhex(statement_id)
        identifier = ttypes.THandleIdentifier(data[:_GUID_BYTES], data[_GUID_BYTES:])
        handle = ttypes.TOperationHandle(identifier, ttypes.TOperationType.EXECUTE_STATEMENT, hasResultSet=False)
        self._ask("CancelOperation", ttypes.TCancelOperationReq(handle))

    def executemany(self, operation: str, seq_of_parameters: Sequence[Parameters]) -> None:
        """Run a statement once for each set of parameters."""
        for parameters in seq_of_parameters:
            self.execute(operation, parameters)

    def call(self, name: str, **arguments: str | list[str] | None) -> None:
        """Run a metadata call; see `Connection.call`."""
        request: Callable[..., object] = getattr(ttypes, f"T{name}Req")
        self._begin(name, request(self._session, **arguments))

    @property
    def _session(self) -> object:
        return self._connection.sessionHandle

    def _begin(self, name: str, request: object) -> None:
        self._reset_state()
        self._operationHandle = self._ask(name, request).operationHandle
        self._state = self._STATE_RUNNING

    def _ask(self, name: str, request: object) -> ttypes.TGetOperationStatusResp:
        try:
            answer = getattr(self._connection.client, name)(request)
        except (TException, OSError) as error:
            raise LostConnectionError(f"The connection is lost: {_message_of(error)}") from error
        status = answer.status
        if status.statusCode not in (ttypes.TStatusCode.SUCCESS_STATUS, ttypes.TStatusCode.SUCCESS_WITH_INFO_STATUS):
            raise _error(status.errorMessage, status.sqlState)
        return answer

    def _fetch_more(self) -> None:
        """Fetch the next rows; PyHive's methods that return rows call it."""
        if not self._operationHandle.hasResultSet:
            raise ProgrammingError("The statement has no rows.")
        request = ttypes.TFetchResultsReq(
            self._operationHandle, ttypes.TFetchOrientation.FETCH_NEXT, maxRows=self.arraysize
        )
        columns = self._ask("FetchResults", request).results.columns
        kinds = [description[1] for description in self.description]
        rows = list(zip(*map(_values, columns, kinds), strict=True))
        self._data += rows
        if not rows:
            self._state = self._STATE_FINISHED


def _binary(
    host: str,
    port: int,
    context: ssl.SSLContext | None,
    auth: str,
    service: str,
    username: str | None,
    password: str | None,
) -> TTransportBase:
    socket = TSocket(host, port) if context is None else TSSLSocket(host, port, ssl_context=context)
    if auth == "NOSASL":
        return TBufferedTransport(socket)
    mechanism = "GSSAPI" if auth == "KERBEROS" else "PLAIN"

    def client() -> object:
        # Without authentication, any name and password do, but empty ones.
        who = {"username": username or "anonymous", "password": password or "anonymous"}
        return hive.get_installed_sasl(host, mechanism, service=service, **who)

    return TSaslClientTransport(client, mechanism, socket)


def _http(
    host: str, port: int, path: str, context: ssl.SSLContext | None, username: str | None, password: str | None
) -> TTransportBase:
    scheme = "http" if context is None else "https"
    transport = THttpClient(f"{scheme}://{host}:{port}/{path.strip('/')}", ssl_context=context)
    hive.Connection._set_authorization_header(transport, username, password)
    return transport


def _filled_in(operation: str, parameters: Parameters) -> str:
    """The statement with literals in the place of its parameters."""
    given: dict[str, str] | tuple[str, ...]
    if isinstance(parameters, Mapping):
        given = {name: literal(value) for name, value in parameters.items()}
    else:
        given = tuple(map(literal, parameters))
    try:
        return operation % given
    except (KeyError, TypeError, ValueError) as error:
        hint = "a statement with parameters doubles its other percent signs"
        raise ProgrammingError(f"The parameters do not fit the statement ({error}); {hint}.") from error


def _values(column: object, kind: str) -> Sequence[object]:
    """The values of a column of the protocol, which has a list for each type, all but one of them missing."""
    found = next(values for values in vars(column).values() if values is not None)
    convert = _CONVERTERS.get(kind)
    if not any(found.nulls):
        return found.values if convert is None else list(map(convert, found.values))
    nulls = found.nulls.ljust(len(found.values) // 8 + 1, b"\0")
    return [
        None if nulls[i >> 3] >> (i & 7) & 1 else value if convert is None else convert(value)
        for i, value in enumerate(found.values)
    ]


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise DataError(f"Python has no date {text}. Select it as a string: CAST(… AS STRING)") from None


def _time_stamp(text: str) -> datetime:
    seconds, _, fraction = text.partition(".")
    try:
        return datetime.fromisoformat(f"{seconds}.{fraction:0<6}")
    except ValueError:
        raise DataError(f"Python has no time stamp {text}. Select it as a string: CAST(… AS STRING)") from None


_CONVERTERS: dict[str, Callable[[str], object]] = {
    "DECIMAL_TYPE": Decimal,
    "DATE_TYPE": _date,
    "TIMESTAMP_TYPE": _time_stamp,
}

_BY_STATE = {
    "0A": NotSupportedError,
    "21": ProgrammingError,
    "22": DataError,
    "23": IntegrityError,
    "42": ProgrammingError,
}
"""Classes of errors by the class of an SQLSTATE (the standard: subclause 23.1)."""

_CLASSES = re.compile(r"(?:Error running query: |\[[\w.]+\] (?=(?:[a-z]\w*\.)+\w)|(?:[a-z]\w*\.)+\w+(?:\$\w+)*:\s+)+")
_STACK = re.compile(r"\n[ \t]*at [\w.$/<>]+\(.*", re.DOTALL)
_LOST = "Invalid SessionHandle"


def _error(message: str | None, state: str | None) -> Error:
    """The error of a statement, without Java's classes and stack."""
    text = _STACK.sub("", message or "The statement failed without a message").strip()
    if _LOST in text:
        return LostConnectionError(text)
    shown = text[match.end() :] if (match := _CLASSES.match(text)) else text
    return _BY_STATE.get((state or "")[:2], OperationalError)(shown)


def _message_of(error: Exception) -> str:
    return str(error) or type(error).__name__
