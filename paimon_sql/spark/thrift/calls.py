"""Metadata calls of JDBC: one function per call computes the rows of its result, and operations of the server run it.

Spark's own operation returns the rows of its catalog and of temporary views, the listing those of Paimon's catalogs. A
new call is added to `CALLS`. The operations are subclasses of Spark's and Hive's with rows from Python.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, cast

from paimon_sql.catalog.identifier import SYSTEM_DATABASE
from paimon_sql.errors import PaimonError
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.types import TypeJson, default_sql, spark_type
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.java.session import ClassicSession
from paimon_sql.spark.jvm.gateway import Jvm, private_field
from paimon_sql.spark.jvm.proxy import Method, raise_java, subclass_instance
from paimon_sql.spark.session.bridge import Bridge
from paimon_sql.spark.thrift.listing import SYSTEM_TABLE, TABLE, VIEW, Listing, NamePattern, Relation
from paimon_sql.sql.context import SESSION_CATALOG
from paimon_sql.sql.text.names import name_sql

Row: TypeAlias = list[str | int | None]
GivenArgument: TypeAlias = str | list[str] | None
_SPARK = "org.apache.spark.sql.hive.thriftserver.Spark"
_HIVE = "org.apache.hive.service.cli"
_OPERATION = f"{_HIVE}.operation."
_NO_NULLS, _NULLABLE = 0, 1


Rows: TypeAlias = Callable[[Listing, Sequence[GivenArgument], list[Row]], list[Row]]
"""Computes all rows of a result, in the order that JDBC specifies.

It takes Paimon's catalogs, the arguments of the call, and the rows of Spark's own operation.
"""


def _catalogs(listing: Listing, arguments: Sequence[GivenArgument], known: list[Row]) -> list[Row]:
    """``getCatalogs()``."""
    return [[name] for name in sorted({*listing.catalogs, SESSION_CATALOG})]


def _schemas(listing: Listing, arguments: Sequence[GivenArgument], known: list[Row]) -> list[Row]:
    """``getSchemas(catalog, schemaPattern)``."""
    catalog, database = _text(arguments[0]), NamePattern(_text(arguments[1]))
    sparks = [(SESSION_CATALOG, str(found)) for found, of in known if _is_sparks(of, listing)]
    is_requested = catalog in (None, "", SESSION_CATALOG)
    # If spark_catalog is attached, both return its databases.
    matching = {name for name in sparks if is_requested and database.matches(name[1])}
    return [[found, of] for of, found in sorted(matching.union(listing.databases(catalog, database)))]


def _tables(listing: Listing, arguments: Sequence[GivenArgument], known: list[Row]) -> list[Row]:
    """``getTables(catalog, schemaPattern, tableNamePattern, types)``; Hive's driver never sends the catalog."""
    catalog, database, name = _text(arguments[0]), *(NamePattern(_text(a)) for a in arguments[1:3])
    kinds = frozenset(arguments[3] or ()) or _kinds_by_name(database, name)
    found = listing.relations(catalog, database, name, kinds)
    own: list[Row] = [[r.catalog, r.database, r.name, r.kind, r.comment, *[None] * 5] for r in found]
    rows = [*own, *_of_spark(known, listing, catalog, database, name)]
    return sorted(rows, key=lambda row: [str(row[i] or "") for i in (3, 0, 1, 2)])


def _columns(listing: Listing, arguments: Sequence[GivenArgument], known: list[Row]) -> list[Row]:
    """``getColumns(catalog, schemaPattern, tableNamePattern, columnNamePattern)``."""
    catalog, database, name, column = _text(arguments[0]), *(NamePattern(_text(a)) for a in arguments[1:4])
    found = listing.relations(catalog, database, name, _kinds_by_name(database, name))
    own = [
        _column_row(relation, field, position)
        for relation in found
        for position, field in enumerate(relation.fields, 1)
        if column.matches(field.name)
    ]
    sparks = _of_spark(known, listing, catalog, database, name)
    rows = [*own, *(row for row in sparks if column.matches(str(row[3])))]
    # The sort is stable, so columns remain in their order.
    return sorted(rows, key=lambda row: [str(row[i] or "") for i in (0, 1, 2)])


def _table_types(listing: Listing, arguments: Sequence[GivenArgument], known: list[Row]) -> list[Row]:
    """``getTableTypes()``."""
    return [[kind] for kind in sorted({SYSTEM_TABLE, TABLE, VIEW, *(str(row[0]) for row in known)})]


def _primary_keys(listing: Listing, arguments: Sequence[GivenArgument], known: list[Row]) -> list[Row]:
    """``getPrimaryKeys(catalog, schema, table)``: names, not patterns; Spark's own catalog has no keys."""
    rows: list[Row] = [
        [r.catalog, r.database, r.name, column, position, None]
        for r in listing.primary_keys(_text(arguments[0]), _text(arguments[1]), _text(arguments[2]) or "")
        for position, column in enumerate(r.primary_keys, 1)
    ]
    return sorted(rows, key=lambda row: str(row[3]))


@dataclass(frozen=True)
class MetadataCall:
    """A metadata call of JDBC, by its name in the server's protocol.

    Attributes:
        rows: computes the result.
        of_spark: whether the server's own operation returns rows of Spark's own catalog.
    """

    name: str
    rows: Rows
    of_spark: bool = True

    @property
    def operation(self) -> str:
        """The class of the server's own operation."""
        return f"{_SPARK if self.of_spark else _OPERATION}{self.name}Operation"


CALLS = (
    MetadataCall("GetCatalogs", _catalogs),
    MetadataCall("GetSchemas", _schemas),
    MetadataCall("GetTables", _tables),
    MetadataCall("GetColumns", _columns),
    MetadataCall("GetTableTypes", _table_types),
    MetadataCall("GetPrimaryKeys", _primary_keys, of_spark=False),
    # There are no foreign keys, and Hive's operation for getImportedKeys and similar calls needs a metastore.
    MetadataCall("GetCrossReference", lambda listing, arguments, known: [], of_spark=False),
)


def _kinds_by_name(database: NamePattern, name: NamePattern) -> frozenset[str]:
    """The kinds of tables if the call names none: system tables only if a pattern names them."""
    named = "$" in name.text or (database.name or "").lower() == SYSTEM_DATABASE
    return frozenset({TABLE, VIEW, SYSTEM_TABLE} if named else {TABLE, VIEW})


def _of_spark(
    known: list[Row], listing: Listing, catalog: str | None, database: NamePattern, name: NamePattern
) -> list[Row]:
    """Spark's own rows that match; temporary views, which have no catalog, only if all databases are requested."""
    found: list[Row] = []
    for of, namespace, *rest in known:
        if not name.matches(str(rest[0])):
            continue
        if namespace and _is_sparks(of, listing) and catalog in (None, "", SESSION_CATALOG):
            found += [[SESSION_CATALOG, namespace, *rest]] if database.matches(str(namespace)) else []
        elif not namespace and not catalog and database.is_all:
            found.append([None, None, *rest])
    return found


def _text(argument: GivenArgument) -> str | None:
    return argument if isinstance(argument, str) else None


def _is_sparks(catalog: str | int | None, listing: Listing) -> bool:
    """Whether a row of Spark is of its own catalog, for which the catalog may be missing."""
    return catalog not in listing.catalogs or catalog == SESSION_CATALOG


def _column_row(relation: Relation, field: DataField, position: int) -> Row:
    kind = spark_type(field.type)
    described = jdbc_type(kind)
    return [
        *(relation.catalog, relation.database, relation.name, field.name),
        *(described.code, type_name(kind), described.size, None, described.digits, described.radix),
        *(_NULLABLE if field.type.nullable else _NO_NULLS, field.description or "", default_sql(field)),
        *(None, None, None, position, "YES" if field.type.nullable else "NO"),
        *(None, None, None, None, "NO"),
    ]


_MAX_SIZE = 2**31 - 1
_WITH_LENGTH = re.compile(r"(decimal|char|varchar)\((\d+)(?:,(-?\d+))?\)")
_FRACTION = 6
"""Spark's precision of timestamps: fractional digits of a second."""


@dataclass(frozen=True)
class JdbcType:
    """JDBC's description of a type.

    Attributes:
        code: the constant of ``java.sql.Types``.
        size: digits of a number, characters of a string, or of a printed date or time; None if it has none.
        digits: fractional digits.
        radix: the base of ``size`` and ``digits``; None if the type is not numeric.
    """

    code: int
    size: int | None = None
    digits: int | None = None
    radix: int | None = None


_ATOMIC = {
    "boolean": JdbcType(16),
    "byte": JdbcType(-6, 3, 0, 10),
    "short": JdbcType(5, 5, 0, 10),
    "integer": JdbcType(4, 10, 0, 10),
    "long": JdbcType(-5, 19, 0, 10),
    "float": JdbcType(6, 7, 7, 10),
    "double": JdbcType(8, 15, 15, 10),
    "string": JdbcType(12, _MAX_SIZE),
    "binary": JdbcType(-2, _MAX_SIZE),
    "date": JdbcType(91, 10),
    "timestamp": JdbcType(93, 20 + _FRACTION, _FRACTION),
    "timestamp_ntz": JdbcType(93, 20 + _FRACTION, _FRACTION),
}
_NESTED = {"array": JdbcType(2003), "map": JdbcType(2000), "struct": JdbcType(2002)}
_OTHER = JdbcType(1111)
_NAMES = {"byte": "TINYINT", "short": "SMALLINT", "integer": "INT", "long": "BIGINT"}


def jdbc_type(kind: TypeJson) -> JdbcType:
    """Return JDBC's description of a type, which is in Spark's JSON."""
    if not isinstance(kind, str):
        return _NESTED.get(kind["type"], _OTHER)
    if (match := _WITH_LENGTH.fullmatch(kind)) is None:
        return _ATOMIC.get(kind, _OTHER)
    size = int(match[2])
    if match[1] == "decimal":
        return JdbcType(3, size, int(match[3]), 10)
    return JdbcType(1 if match[1] == "char" else 12, size)


def type_name(kind: TypeJson) -> str:
    """Return Spark's SQL of a type, which is in Spark's JSON."""
    if isinstance(kind, str):
        return _NAMES.get(kind, kind.upper())
    if kind["type"] == "array":
        return f"ARRAY<{type_name(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"MAP<{type_name(kind['keyType'])}, {type_name(kind['valueType'])}>"
    fields = (f"{name_sql(f['name'])}: {type_name(f['type'])}" for f in kind["fields"])
    return f"STRUCT<{', '.join(fields)}>"


_ROW = "[Ljava.lang.Object;"
_LITERAL = re.compile(r"[A-Za-z0-9_%]*")
_MANAGER = f"{_HIVE}.operation.OperationManager"


def operation_manager(bridge: Bridge, sessions: JavaObject, create_statement: Method) -> JavaObject:
    """Create a ``SparkSQLOperationManager`` that creates our operations for metadata and statements.

    Args:
        bridge: the bridge, for the catalogs of sessions.
        sessions: the ``ConcurrentHashMap`` of the connections' Spark sessions.
        create_statement: its ``newExecuteStatementOperation``.
    """
    jvm = bridge.jvm
    makers: dict[str, Method] = {f"new{call.name}Operation": partial(_operation, bridge, call) for call in CALLS}
    makers["newExecuteStatementOperation"] = create_statement
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
