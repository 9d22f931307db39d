"""REST catalog: names, schemas and snapshots are on a server (spec: REST API)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar, TypedDict

from paimon_sql import errors
from paimon_sql.catalog.catalog import ALONE, Host
from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier, check_name
from paimon_sql.catalog.required_options import required
from paimon_sql.catalog.rest.changes import schema_changes
from paimon_sql.catalog.rest.client import ConflictAnswerError, NotFoundAnswerError, RestClient, configured, path_of
from paimon_sql.catalog.rest.environment import RestPartitions, RestVersionManagement, TokenFileIO, TokenProvider
from paimon_sql.catalog.rest.objects import DefinitionsOnServer, named
from paimon_sql.catalog.table_types import KINDS, AnyTable, offered_kind
from paimon_sql.catalog.warehouse import check_same, lists_partitions
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import DATA_TOKEN_ENABLED, WAREHOUSE
from paimon_sql.format.options.operations.commit import METASTORE_PARTITIONED_TABLE
from paimon_sql.format.options.table.table import PATH, QUERY_AUTH_ENABLED
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import FieldJson, RowType, field_ids, parse_field
from paimon_sql.storage.branches.selection import check_named_branches
from paimon_sql.storage.file_io import FileIO, file_io_of
from paimon_sql.storage.file_io.external.locations import ExternalAccess
from paimon_sql.storage.file_io.paths import join, scheme_of
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.iceberg import publish_quietly
from paimon_sql.storage.metadata.catalog_environment import QueryAuth, QueryAuthResult
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class RestQueryAuth(QueryAuth):
    """The query authorization of a table.

    Attributes:
        client: the server.
        table: the path of the table.
    """

    client: RestClient
    table: tuple[str, ...]

    def authorize(self, columns: Sequence[str]) -> QueryAuthResult:
        response = self.client.post(*self.table, "auth", body={"select": list(columns)})
        filters, masks = response.get("filter") or [], response.get("columnMasking") or {}
        return QueryAuthResult.read([str(f) for f in filters], {str(c): str(m) for c, m in masks.items()})


class _DatabaseEntry(TypedDict, total=False):
    location: str | None
    options: dict[str, str] | None


class _SchemaJson(TypedDict, total=False):
    fields: list[FieldJson]
    partitionKeys: list[str] | None
    primaryKeys: list[str] | None
    options: dict[str, str] | None
    comment: str | None


class _TableEntry(TypedDict, total=False):
    id: str
    path: str | None
    isExternal: bool
    schemaId: int
    schema: _SchemaJson
    updatedAt: int | None


_LOCATION = "location"
_OPEN_SCHEMES = ("file", "hdfs", "viewfs")
"""File systems without tokens."""


class RestCatalog(DefinitionsOnServer):
    """A catalog on a server (Paimon: `RESTCatalog`); nothing is cached, for other clients may change it at any time.

    Only the server changes schemas. Files are read and written by this process, at locations of the server; the server
    commits snapshots, except those of *external* tables, of which it has only the location.

    Attributes:
        client: the server.
    """

    stores_locations = True
    replaces_definitions: ClassVar[bool] = False

    def __init__(self, name: str, options: Mapping[str, str], host: Host = ALONE) -> None:
        required(name, options, WAREHOUSE, "Set it to the name by which the server knows the warehouse.")
        self.client, merged = configured(name, options)
        super().__init__(name, merged, host)
        # From the local options alone: a server must not extend the access to external locations.
        self._access = ExternalAccess.of(options)

    def list_databases(self) -> list[str]:
        return sorted(self.client.listed("databases", member="databases"))

    def database_exists(self, database: str) -> bool:
        return self._database(database) is not None

    def database_properties(self, database: str) -> dict[str, str]:
        found = self._database(database)
        if found is None:
            raise self._no_database(database)
        location = found.get("location")
        stored = {_LOCATION: str(location)} if location else {}
        return {**stored, **{str(k): str(v) for k, v in (found.get("options") or {}).items()}}

    def create_database(self, database: str, properties: Mapping[str, str]) -> None:
        check_name(database, "database")
        if database == SYSTEM_DATABASE:
            raise self._taken_database(database)
        try:
            self.client.post("databases", body={"name": database, "options": dict(properties)})
        except ConflictAnswerError:
            raise self._taken_database(database) from None

    def alter_database(self, database: str, changes: Mapping[str, str | None]) -> None:
        removals = [k for k, v in changes.items() if v is None]
        updates = {k: v for k, v in changes.items() if v is not None}
        with self._within(database):
            self.client.post("databases", database, body={"removals": removals, "updates": updates})

    def drop_database(self, database: str, cascade: bool) -> None:
        if not cascade:
            self._refuse_held(database)
        with self._within(database):
            self._drop_database(database, cascade)

    def _drop_database(self, database: str, cascade: bool) -> None:
        self.client.delete("databases", database)

    def list_tables(self, database: str) -> list[str]:
        with self._within(database):
            # A server may list the branches of a table under its name, too.
            return sorted(set(self.client.listed("databases", database, "tables", member="tables")))

    def table_exists(self, identifier: Identifier) -> bool:
        return self._found(identifier) is not None

    def table_location(self, identifier: Identifier) -> str:
        found = self._found(identifier)
        if found is not None:
            return _location(found, identifier)
        location = self.database_properties(identifier.database).get(_LOCATION, "")
        return join(location, check_name(identifier.table, "table"))

    def any_table(self, identifier: Identifier) -> AnyTable:
        table = self.authorized_table(identifier)
        if isinstance(table, Table) and table.query_auth is not None:
            raise errors.UnsupportedError(
                f"{table.name} has '{QUERY_AUTH_ENABLED.key}': query authorization supports only SELECT and INSERT."
            )
        return table

    def authorized_table(self, identifier: Identifier) -> AnyTable:
        found = self._found(identifier)
        own = replace(identifier, system_table=None)
        if found is None:
            self._require(own.database)
            raise self._no_table(own)
        location = _location(found, identifier)
        schema = _schema(found, location)
        kind = offered_kind(schema, self.name, self.options)
        is_external = bool(found.get("isExternal"))
        if is_external:
            # The server's time is that of the last change of the entry, not of the schema version.
            schema = replace(schema, time_millis=0)
        table = Table(
            name=f"{self.name}.{own}",
            path=location,
            file_io=self._file_io(location, own),
            schema=schema,
            branch=own.branch,
            version_management=None if is_external else RestVersionManagement(self.client, own, str(found.get("id"))),
            access=self._access,
            executor=self.host.executor,
            query_auth=RestQueryAuth(self.client, _path(own))
            if TableOptions(schema.options).get(QUERY_AUTH_ENABLED)
            else None,
        )
        opened = kind.opened(table, self.options)
        if isinstance(opened, FormatTable) and lists_partitions(schema):
            return replace(opened, register=RestPartitions(self.client, _path(own), table.name))
        return opened

    def create_any_table(self, identifier: Identifier, schema: TableSchema) -> AnyTable:
        kind = offered_kind(schema, self.name, self.options)
        check_name(identifier.table, "table")
        self._require(identifier.database)
        self._refuse_names(identifier)
        if kind is KINDS["format-table"] and lists_partitions(schema) and PATH.key in schema.options:
            raise errors.InvalidSchemaError(
                f"{self.name}.{identifier}: the catalog lists partitions only of tables in its warehouse.",
                remedy=f"Leave LOCATION or '{METASTORE_PARTITIONED_TABLE.key}' out.",
            )
        location = schema.options.get(PATH.key) or self.table_location(identifier)
        file_io = file_io_of(location, self.options)
        self._check_branches(schema, file_io, location)
        if kind is KINDS["table"] and PATH.key in schema.options:
            schema = _existing_schema(schema, SchemaManager(file_io, location).latest())
        body = {"identifier": named(identifier), "schema": _schema_json(schema)}
        self._create("tables", identifier.database, body, self._taken_table(identifier))
        table = self.authorized_table(identifier)
        if isinstance(table, Table) and table.version_management is None and table.schemas.latest() is None:
            # The table must be readable by its path, and servers may not write its schema there.
            table.schemas.try_add(table.schema)
        return table

    def drop_table(self, identifier: Identifier) -> None:
        with self._raising_no_table(identifier):
            self.client.delete(*_path(identifier))

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        self._require(target.database)
        check_name(target.table, "table")
        self._refuse_names(target)
        if self.table_exists(target):
            raise self._taken_table(target)
        try:
            with self._raising_no_table(source):
                self.client.post("tables", "rename", body={"source": named(source), "destination": named(target)})
        except ConflictAnswerError:
            raise self._taken_table(target) from None

    def replace_table(self, identifier: Identifier, schema: TableSchema) -> None:
        try:
            self.client.post(*_path(identifier), "replace", body={"schema": _schema_json(schema)})
        except NotFoundAnswerError as error:
            missing = f"{self.name}.{identifier}"
            if error.resource == "TABLE":
                raise errors.NoSuchTableError(f"Table {missing} does not exist.", name=missing) from None
            raise errors.UnsupportedError(
                f"{missing} cannot be replaced: the catalog's server supports only changes of a definition.",
                remedy="DROP the table and CREATE it again.",
            ) from None

    def alter_table(self, identifier: Identifier, change: Callable[[TableSchema], TableSchema]) -> TableSchema:
        table = self.authorized_table(identifier)
        changed = change(table.schema)
        if isinstance(table, Table):
            check_named_branches(changed, table.branches, table.schema)
        changes = schema_changes(table.schema, changed)
        if not changes:
            return table.schema
        try:
            with self._raising_no_table(identifier):
                self.client.post(*_path(identifier), body={"changes": changes})
        except ConflictAnswerError as error:
            raise errors.InvalidSchemaError(error.message) from None
        altered = self.authorized_table(identifier)
        if isinstance(altered, Table):
            publish_quietly(altered)
        return altered.schema

    def _database(self, database: str) -> _DatabaseEntry | None:
        """The server's entry of a database; None if it does not exist."""
        found: _DatabaseEntry | None = self.client.find("databases", database)
        return found

    def _found(self, identifier: Identifier) -> _TableEntry | None:
        """The server's entry of a table or branch; None if it does not exist."""
        found: _TableEntry | None = self.client.find(*_path(identifier))
        return found

    def _file_io(self, location: str, identifier: Identifier) -> FileIO:
        if TableOptions(self.options).get(DATA_TOKEN_ENABLED) and scheme_of(location) not in _OPEN_SCHEMES:
            return TokenFileIO(TokenProvider(self.client, _path(identifier)), self.options)
        return file_io_of(location, self.options)

    @contextmanager
    def _raising_no_table(self, identifier: Identifier) -> Iterator[None]:
        """Raise NoSuchTableError for not-found responses, unless they are about a column of the table."""
        name = f"{self.name}.{identifier}"
        with self._missing(errors.NoSuchTableError(f"Table {name} does not exist.", name=name), identifier.database):
            try:
                yield
            except NotFoundAnswerError as error:
                if error.resource == "COLUMN":
                    raise errors.InvalidSchemaError(error.message) from None
                raise


def _path(identifier: Identifier) -> tuple[str, ...]:
    return path_of("tables", replace(identifier, system_table=None))


def _location(found: _TableEntry, identifier: Identifier) -> str:
    """The location of a table, by the server's entry."""
    location = str(found.get("path") or "").rstrip("/")
    if not location:
        raise errors.CatalogUnavailableError(f"The catalog's server did not return the location of table {identifier}.")
    return location


def _existing_schema(schema: TableSchema, existing: TableSchema | None) -> TableSchema:
    """The schema of a new external table: that of the table at its location, if there is one.

    Raises:
        InvalidInputError: the table at the location is a different one.
    """
    if existing is None:
        return schema
    location = schema.options[PATH.key]
    check_same(existing, schema, location)
    return replace(existing, options={**existing.options, PATH.key: location})


def _schema(found: _TableEntry, location: str) -> TableSchema:
    """The schema of a table, by the server's entry."""
    json_schema = found["schema"]
    fields = tuple(parse_field(f) for f in json_schema["fields"])
    options = {str(k): str(v) for k, v in (json_schema.get("options") or {}).items()}
    if options.get(PATH.key, "").rstrip("/") == location:
        del options[PATH.key]
    return TableSchema(
        id=int(found["schemaId"]),
        fields=fields,
        highest_field_id=max(field_ids(RowType(True, fields)), default=-1),
        partition_keys=tuple(json_schema.get("partitionKeys") or ()),
        primary_keys=tuple(json_schema.get("primaryKeys") or ()),
        options=options,
        comment=json_schema.get("comment"),
        time_millis=int(found.get("updatedAt") or 0),
    )


def _schema_json(schema: TableSchema) -> dict[str, object]:
    """The schema of a new table, as JSON for the server."""
    return {
        "fields": [f.to_json() for f in schema.fields],
        "partitionKeys": list(schema.partition_keys),
        "primaryKeys": list(schema.primary_keys),
        "options": dict(schema.options),
        "comment": schema.comment,
    }
