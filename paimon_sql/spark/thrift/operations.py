"""Metadata operations of the server: subclasses of Spark's and Hive's operations with rows from Python."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from paimon_sql.errors import PaimonError
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.java.session import ClassicSession
from paimon_sql.spark.jvm.gateway import Jvm, private_field
from paimon_sql.spark.jvm.proxy import raise_java, subclass_instance
from paimon_sql.spark.session.bridge import Bridge
from paimon_sql.spark.thrift.calls import CALLS, GivenArgument, MetadataCall, Row
from paimon_sql.spark.thrift.listing import Listing

_HIVE = "org.apache.hive.service.cli"
_ROW = "[Ljava.lang.Object;"
_LITERAL = re.compile(r"[A-Za-z0-9_%]*")
_MANAGER = f"{_HIVE}.operation.OperationManager"


def operation_manager(bridge: Bridge, sessions: JavaObject) -> JavaObject:
    """Create a ``SparkSQLOperationManager`` that creates our operations for metadata, and Spark's for all other calls.

    Args:
        bridge: the bridge, for the catalogs of sessions.
        sessions: the ``ConcurrentHashMap`` of the connections' Spark sessions.
    """
    jvm = bridge.jvm
    makers = {f"new{call.name}Operation": partial(_operation, bridge, call) for call in CALLS}
    manager = subclass_instance(jvm, "org.apache.spark.sql.hive.thriftserver.server.SparkSQLOperationManager", makers)
    # Its constructor looks for this field in the parent of the created class, which for a subclass is the wrong one.
    operations = jvm.java_class(_MANAGER).getDeclaredField("handleToOperation")
    operations.setAccessible(True)
    private_field(manager, "handleToOperation")[0].set(manager, operations.get(manager))
    private_field(manager, "sessionToContexts")[0].set(manager, sessions)
    return manager


def _operation(
    bridge: Bridge, call: MetadataCall, manager: JavaObject, arguments: Sequence[object], _: object
) -> JavaObject:
    """Create the operation of a call and register it with the manager."""
    jvm = bridge.jvm
    connection, *given = cast(Sequence[JavaObject], arguments)
    session = manager.sessionToContexts().get(connection.getSessionHandle())
    if session is None:
        raise_java(jvm.new(f"{_HIVE}.HiveSQLException", "The connection is closed."))
    client = [a if a is None or isinstance(a, str) else list(cast(Sequence[str], a)) for a in given]
    answer = MetadataAnswer(bridge, call, session, client)
    first: tuple[object, ...] = (session, connection) if call.of_spark else (connection,)
    patterns = map(_spark_pattern, given)
    result = subclass_instance(jvm, call.operation, {"runInternal": answer.run}, *first, *patterns)
    manager.handleToOperation().put(result.getHandle(), result)
    return result


@dataclass(frozen=True)
class MetadataAnswer:
    """The execution of one operation.

    Attributes:
        bridge: the bridge, for the catalogs of sessions.
        call: the metadata call.
        session: the JVM session of the connection.
        arguments: the client's arguments of the call.
    """

    bridge: Bridge
    call: MetadataCall
    session: ClassicSession
    arguments: Sequence[GivenArgument]

    def run(self, operation: JavaObject, _: object, proceed: Callable[[], object]) -> None:
        """The operation's ``runInternal``."""
        known: list[Row] = []
        field, empty = private_field(operation, "rowSet")
        if self.call.of_spark:
            proceed()
            known = json.loads(str(_json(self.bridge.jvm).writeValueAsString(empty.iterator())))
        else:
            self._state(operation, "RUNNING")
        field.set(operation, self._row_set(operation, self._rows(known)))
        if not self.call.of_spark:
            self._state(operation, "FINISHED")

    def _rows(self, known: list[Row]) -> list[Row]:
        listing = Listing(self.bridge.session(self.session).all())
        try:
            return self.call.rows(listing, self.arguments, known)
        except (PaimonError, OSError) as error:
            raise_java(self.bridge.jvm.new(f"{_HIVE}.HiveSQLException", str(error)))

    def _row_set(self, operation: JavaObject, rows: list[Row]) -> JavaObject:
        """The rows as the server's row set; one JSON string passes all rows, since a call per row would be slow."""
        jvm = self.bridge.jvm
        _, schema = private_field(operation, "RESULT_SET_SCHEMA")
        row_set: JavaObject = jvm.static(f"{_HIVE}.RowSetFactory", "create")(
            schema, operation.getProtocolVersion(), False
        )
        _json(jvm).readValue(json.dumps(rows), _list_of_rows(jvm)).forEach(_adder(jvm, row_set))
        return row_set

    def _state(self, operation: JavaObject, name: str) -> None:
        jvm = self.bridge.jvm
        kind = jvm.java_class(f"{_HIVE}.OperationState")
        # It is protected, and Py4J finds only public methods by name.
        method = jvm.java_class(f"{_HIVE}.operation.Operation").getDeclaredMethod(
            "setState", jvm.array("java.lang.Class", [kind])
        )
        method.setAccessible(True)
        method.invoke(operation, jvm.objects([jvm.enum(f"{_HIVE}.OperationState", name)]))


def _spark_pattern(argument: object) -> object:
    """An argument for Spark's operation, which treats some characters as regular expressions: None if it has any.

    Spark then returns more rows than requested, which are filtered afterwards.
    """
    return None if isinstance(argument, str) and not _LITERAL.fullmatch(argument) else argument


def _json(jvm: Jvm) -> JavaObject:
    return jvm.constant("JSON", lambda: jvm.new("com.fasterxml.jackson.databind.ObjectMapper"))


def _list_of_rows(jvm: Jvm) -> JavaObject:
    def make() -> JavaObject:
        types = _json(jvm).getTypeFactory()
        return types.constructCollectionType(jvm.java_class("java.util.ArrayList"), jvm.java_class(_ROW))

    return jvm.constant("list of rows", make)


def _adder(jvm: Jvm, row_set: JavaObject) -> JavaObject:
    """A Java ``Consumer`` that adds a row to a row set without a callback to Python."""

    def add_row() -> JavaObject:
        kind = jvm.java_class(f"{_HIVE}.RowSet")
        takes = jvm.cls("java.lang.invoke.MethodType").methodType(kind, jvm.java_class(_ROW))
        return jvm.cls("java.lang.invoke.MethodHandles").publicLookup().findVirtual(kind, "addRow", takes)

    method = jvm.constant("RowSet.addRow", add_row).bindTo(row_set)
    consumer = jvm.java_class("java.util.function.Consumer")
    return jvm.static("java.lang.invoke.MethodHandleProxies", "asInterfaceInstance")(consumer, method)
