"""The dialect: connections by URL, and what the server has."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, cast

from sqlalchemy.engine import URL, Connection
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.exc import ArgumentError, NoSuchTableError
from sqlalchemy.schema import Table
from sqlalchemy.sql.compiler import IdentifierPreparer
from sqlalchemy.sql.sqltypes import NULLTYPE, DateTime
from sqlalchemy.util import warn

from paimon_sql.errors import SetupError
from paimon_sql.sql.text.names import quote_path
from paimon_sql.sqlalchemy.compiler import (
    OPTIONS,
    PARTITIONED_BY,
    USING,
    PaimonCompiler,
    PaimonDDLCompiler,
    PaimonPreparer,
)
from paimon_sql.sqlalchemy.conversion import TimeStamp
from paimon_sql.sqlalchemy.metadata import TABLE, VIEW, ColumnInfo, Metadata, Relation
from paimon_sql.sqlalchemy.names import DatabaseName, read_schema, schema_of
from paimon_sql.sqlalchemy.type_compiler import PaimonTypeCompiler
from paimon_sql.sqlalchemy.type_names import type_named

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import (
        DBAPIConnection,
        DBAPICursor,
        ExecutionContext,
        IsolationLevel,
        ReflectedCheckConstraint,
        ReflectedColumn,
        ReflectedForeignKeyConstraint,
        ReflectedIndex,
        ReflectedPrimaryKeyConstraint,
        ReflectedTableComment,
        ReflectedUniqueConstraint,
    )

    from paimon_sql.sqlalchemy.driver import Connection as Session
    from paimon_sql.sqlalchemy.driver import Parameters

_DRIVER = "paimon_sql.sqlalchemy.driver"
_PARAMETERS = ("catalog", "auth", "kerberos_service_name", "http_path", "tls", "tls_ca")
"""Of a URL, as the driver's connection has them."""

_SETTING = "spark."
_AUTOCOMMIT: IsolationLevel = "AUTOCOMMIT"


class PaimonDialect(DefaultDialect):
    """``paimon://user:password@host:port/database?catalog=…``."""

    name = "paimon"
    driver = "pyhive"
    supports_statement_cache = True

    statement_compiler = PaimonCompiler
    ddl_compiler = PaimonDDLCompiler
    preparer: type[IdentifierPreparer] = PaimonPreparer
    type_compiler_cls = PaimonTypeCompiler
    type_compiler = PaimonTypeCompiler  # of SQLAlchemy 1.4
    colspecs = {DateTime: TimeStamp}
    construct_arguments = [(Table, {OPTIONS: None, PARTITIONED_BY: None, USING: None})]

    supports_alter = False
    supports_comments = True
    inline_comments = True
    supports_default_values = False
    supports_default_metavalue = True
    supports_empty_insert = False
    supports_multivalues_insert = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_sane_rowcount = False
    supports_sane_multi_rowcount = False
    postfetch_lastrowid = False
    # Each INSERT is a snapshot, so that rows go into few. Values are part of the text; there is no limit of parameters.
    use_insertmanyvalues = True
    use_insertmanyvalues_wo_returning = True
    insertmanyvalues_page_size = 5000
    insertmanyvalues_max_parameters = 10_000_000

    _current = DatabaseName(None, None)
    _has_keys = False

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        try:
            return import_module(_DRIVER)
        except ModuleNotFoundError as error:
            remedy = "Run: pip install 'paimon-sql[sqlalchemy]'."
            raise SetupError(f"A client of the Thrift server is not installed ({error}).", remedy=remedy) from error

    @classmethod
    def dbapi(cls) -> ModuleType:  # type: ignore[override]
        """The driver, for SQLAlchemy 1.4; newer versions have an attribute of this name for instances."""
        return cls.import_dbapi()

    def create_connect_args(self, url: URL) -> tuple[list[str], dict[str, object]]:
        """Read a URL.

        Raises:
            ArgumentError: the URL has a parameter that is unknown.
        """
        catalog, database = read_schema(url.database or None)
        found: dict[str, object] = {"host": url.host or "localhost", "port": url.port or 10000}
        found |= {"username": url.username, "password": url.password, "catalog": catalog, "database": database}
        settings: dict[str, str] = {}
        for name, value in url.query.items():
            if name.startswith(_SETTING):
                settings[name] = str(value)
            elif name in _PARAMETERS:
                found[name] = str(value)
            else:
                known = ", ".join(_PARAMETERS)
                raise ArgumentError(f"{name} is not a parameter of a URL of paimon. Use {known}, or a setting spark.….")
        if "tls" in found:
            found["tls"] = found["tls"] == "true"
        return [], {**found, "settings": settings}

    def is_disconnect(self, e: Exception, connection: object, cursor: object) -> bool:
        return isinstance(e, import_module(_DRIVER).LostConnectionError)

    def do_terminate(self, dbapi_connection: DBAPIConnection) -> None:
        cast("Session", dbapi_connection).terminate()

    def do_execute(
        self,
        cursor: DBAPICursor,
        statement: str,
        parameters: Parameters | None,
        context: ExecutionContext | None = None,
    ) -> None:
        if not statement:
            return  # an index, which is not created
        # Text of the user's own without parameters has single percent signs.
        is_plain = context is not None and context.compiled is None and not parameters
        cursor.execute(statement, None if is_plain else parameters)

    def get_isolation_level_values(self, dbapi_conn: DBAPIConnection) -> list[IsolationLevel]:
        return [_AUTOCOMMIT]

    def get_isolation_level(self, dbapi_connection: DBAPIConnection) -> IsolationLevel:
        return _AUTOCOMMIT

    def set_isolation_level(self, dbapi_connection: DBAPIConnection, level: IsolationLevel) -> None:
        """Each statement is a transaction; there is no other level."""

    def initialize(self, connection: Connection) -> None:
        catalog, database = connection.exec_driver_sql("SELECT current_catalog(), current_database()").one()
        self._current = DatabaseName(catalog, database)
        # Spark's own server has no catalogs in its answer, and asks Hive's metastore for keys.
        self._has_keys = bool(_connection_of(connection).call("GetCatalogs"))
        super().initialize(connection)

    def _get_default_schema_name(self, connection: Connection) -> str:
        return schema_of(self._current.database or "default")

    def get_schema_names(self, connection: Connection, **kw: object) -> list[str]:
        """The databases of a catalog.

        Args:
            connection: the connection.
            kw: ``catalog`` names another catalog than the connection's.
        """
        catalog = cast("str | None", kw.get("catalog"))
        return [schema_of(name, catalog) for name in self._metadata(connection).databases(catalog)]

    def get_table_names(self, connection: Connection, schema: str | None = None, **kw: object) -> list[str]:
        return self._names(connection, schema, TABLE)

    def get_view_names(self, connection: Connection, schema: str | None = None, **kw: object) -> list[str]:
        return self._names(connection, schema, VIEW)

    def get_temp_table_names(self, connection: Connection, schema: str | None = None, **kw: object) -> list[str]:
        return []

    def get_temp_view_names(self, connection: Connection, schema: str | None = None, **kw: object) -> list[str]:
        return [view.name for view in self._metadata(connection).temporary_views()]

    def has_table(self, connection: Connection, table_name: str, schema: str | None = None, **kw: object) -> bool:
        self._ensure_has_table_connection(connection)
        try:
            self._relation(connection, table_name, schema, **kw)
        except NoSuchTableError:
            return False
        return True

    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: object
    ) -> list[ReflectedColumn]:
        relation = self._relation(connection, table_name, schema, **kw)
        return [self._column(info) for info in self._metadata(connection).columns(relation)]

    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: object
    ) -> ReflectedPrimaryKeyConstraint:
        relation = self._relation(connection, table_name, schema, **kw)
        return {"constrained_columns": self._metadata(connection).primary_key(relation), "name": None}

    def get_table_comment(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: object
    ) -> ReflectedTableComment:
        return {"text": self._relation(connection, table_name, schema, **kw).comment or None}

    def get_view_definition(
        self, connection: Connection, view_name: str, schema: str | None = None, **kw: object
    ) -> str:
        relation = self._relation(connection, view_name, schema, **kw)
        names = (name for name in (relation.catalog, relation.database, relation.name) if name)
        rows = connection.exec_driver_sql(f"DESCRIBE TABLE EXTENDED {quote_path(names)}")
        for name, value, *_ in rows:
            if name == "View Text":
                return str(value)
        raise NoSuchTableError(view_name)

    def get_foreign_keys(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: object
    ) -> list[ReflectedForeignKeyConstraint]:
        self._relation(connection, table_name, schema, **kw)
        return []

    def get_indexes(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: object
    ) -> list[ReflectedIndex]:
        self._relation(connection, table_name, schema, **kw)
        return []

    def get_unique_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: object
    ) -> list[ReflectedUniqueConstraint]:
        self._relation(connection, table_name, schema, **kw)
        return []

    def get_check_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: object
    ) -> list[ReflectedCheckConstraint]:
        self._relation(connection, table_name, schema, **kw)
        return []

    def _relation(self, connection: Connection, table_name: str, schema: str | None = None, **kw: object) -> Relation:
        """The table or view, which an inspector asks the server for once.

        SQLAlchemy has a decorator for that, but that of 1.4 fails with annotations that are strings.
        """
        given = cast("dict[object, Relation] | None", kw.get("info_cache"))
        known = {} if given is None else given
        place = ("paimon relation", schema, table_name)
        found = known.get(place) or self._metadata(connection).find(read_schema(schema), table_name)
        if found is None:
            raise NoSuchTableError(table_name if schema is None else f"{schema}.{table_name}")
        known[place] = found
        return found

    def _names(self, connection: Connection, schema: str | None, kind: str) -> list[str]:
        return [found.name for found in self._metadata(connection).relations(read_schema(schema), [kind])]

    def _column(self, info: ColumnInfo) -> ReflectedColumn:
        kind = type_named(info.type)
        if kind is NULLTYPE:
            warn(f"The type {info.type} of the column {info.name} is unknown to SQLAlchemy.")
        return {
            "name": info.name,
            "type": kind,
            "nullable": info.nullable,
            "default": info.default,
            "comment": info.comment,
            "autoincrement": False,
        }

    def _metadata(self, connection: Connection) -> Metadata:
        return Metadata(_connection_of(connection), self._current, self._has_keys)


def _connection_of(connection: Connection) -> Session:
    proxied = connection.connection
    # SQLAlchemy 1.4 initializes a dialect with the connection itself.
    return cast("Session", getattr(proxied, "dbapi_connection", proxied))
