"""The catalog that a REST server keeps: its names, its definitions, and the snapshots of its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from paimon_sql.catalog.external_tables import check_same
from paimon_sql.catalog.identifier import MAIN_BRANCH, SYSTEM_DATABASE, Identifier, check_name
from paimon_sql.catalog.required_options import required
from paimon_sql.catalog.rest.changes import schema_changes
from paimon_sql.catalog.rest.client import RestClient, configured
from paimon_sql.catalog.rest.http.errors import ConflictAnswerError, NotFoundAnswerError
from paimon_sql.catalog.rest.objects import DefinitionsOnServer, named
from paimon_sql.catalog.rest.partitions import RestPartitions
from paimon_sql.catalog.rest.snapshots import RestVersionManagement
from paimon_sql.catalog.rest.tokens import TokenFileIO, TokenProvider
from paimon_sql.catalog.table_types import KINDS, AnyTable, offered_kind
from paimon_sql.errors import (
    CatalogUnavailableError,
    DatabaseExistsError,
    InvalidSchemaError,
    NoSuchTableError,
    UnsupportedError,
)
from paimon_sql.format.layout.paths import TablePaths
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import DATA_TOKEN_ENABLED, WAREHOUSE
from paimon_sql.format.options.operations.commit import METASTORE_PARTITIONED_TABLE
from paimon_sql.format.options.table.table import PATH, QUERY_AUTH_ENABLED
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import RowType, field_ids, parse_field
from paimon_sql.storage.branches.management import check_named_branches
from paimon_sql.storage.file_io import FileIO, file_io_of
from paimon_sql.storage.file_io.external.policy import ExternalAccess
from paimon_sql.storage.file_io.paths import join, scheme_of
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.iceberg import publish_quietly
from paimon_sql.storage.metadata.environment.query_auth import QueryAuth, QueryAuthResult
from paimon_sql.storage.metadata.refs.branches import BranchManager
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class RestQueryAuth(QueryAuth):
    """The rights to one table.

    Attributes:
        client: the server.
        table: the path of the table.
    """

    client: RestClient
    table: tuple[str, ...]

    def rights(self, columns: Sequence[str]) -> QueryAuthResult:
        said = self.client.post(*self.table, "auth", body={"select": list(columns)})
        filters, masks = said.get("filter") or [], said.get("columnMasking") or {}
        return QueryAuthResult.read([str(f) for f in filters], {str(c): str(m) for c, m in masks.items()})


_LOCATION = "location"
_OPEN_SCHEMES = ("file", "hdfs", "viewfs")
"""File systems that ask nobody for a token."""


class RestCatalog(DefinitionsOnServer):
    """Everything is asked for where it is needed and nothing is remembered, as others change it at any time.

    Definitions are changed by the server alone. The files of tables are read and written here, in the places that the
    server says; snapshots come to be by its word, unless a table is *external*: the server only knows where it stands.

    Attributes:
        client: the server.
    """

    places_tables = True
    replaces_definitions: ClassVar[bool] = False

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        required(name, options, WAREHOUSE, "Set it to the name by which the server knows the warehouse.")
        self.client, merged = configured(name, options)
        super().__init__(name, merged)
        # What may be opened from here is said here: a server does not widen it.
        self._access = ExternalAccess.of(options)

    def list_databases(self) -> list[str]:
        return sorted(self.client.listed("databases", member="databases"))

    def database_exists(self, database: str) -> bool:
        return self._database(database) is not None

    def database_properties(self, database: str) -> dict[str, str]:
        found = self._database(database)
        if found is None:
            raise self._no_database(database)
        location = {_LOCATION: str(found[_LOCATION])} if found.get(_LOCATION) else {}
        return {**location, **{str(k): str(v) for k, v in (found.get("options") or {}).items()}}

    def create_database(self, database: str, properties: Mapping[str, str]) -> None:
        check_name(database, "database")
        taken = DatabaseExistsError(f"Database {database} already exists in catalog {self.name}.", name=database)
        if database == SYSTEM_DATABASE:
            raise taken
        try:
            self.client.post("databases", body={"name": database, "options": dict(properties)})
        except ConflictAnswerError:
            raise taken from None

    def alter_database(self, database: str, changes: Mapping[str, str | None]) -> None:
        removals = [k for k, v in changes.items() if v is None]
        updates = {k: v for k, v in changes.items() if v is not None}
        with self._within(database):
            self.client.post("databases", database, body={"removals": removals, "updates": updates})

    def drop_database(self, database: str, cascade: bool) -> None:
        if not cascade:
            self._refuse_held(database)
        with self._within(database):
            self.client.delete("databases", database)

    def list_tables(self, database: str) -> list[str]:
        with self._within(database):
            # A server may list the branches of a table by its name, too.
            return sorted(set(self.client.listed("databases", database, "tables", member="tables")))

    def table_exists(self, identifier: Identifier) -> bool:
        return self._found(identifier) is not None

    def table_location(self, identifier: Identifier) -> str:
        found = self._found(identifier)
        if found is not None:
            return _place(found, identifier)
        location = self.database_properties(identifier.database).get(_LOCATION, "")
        return join(location, check_name(identifier.table, "table"))

    def any_table(self, identifier: Identifier) -> AnyTable:
        table = self.authorized_table(identifier)
        if isinstance(table, Table) and table.guard is not None:
            raise UnsupportedError(
                f"{table.name} has '{QUERY_AUTH_ENABLED.key}': its server decides what of it is shown, so that only"
                " SELECT and INSERT are offered.",
            )
        return table

    def authorized_table(self, identifier: Identifier) -> AnyTable:
        found = self._found(identifier)
        own = replace(identifier, system_table=None)
        named_here = f"{self.name}.{own.database}.{own.table}"
        if found is None:
            self._require(own.database)
            if own.branch == MAIN_BRANCH and self.view_exists(own):
                raise NoSuchTableError(f"{named_here} is a view and no table.", name=named_here)
            what = f"Branch {own.branch} of table" if own.branch != MAIN_BRANCH else "Table"
            raise NoSuchTableError(f"{what} {named_here} does not exist.", name=named_here)
        place = _place(found, identifier)
        schema = _schema(found, place)
        kind = offered_kind(schema, self.name, self.options)
        is_external = bool(found.get("isExternal"))
        if is_external:
            # The server tells when it last changed the entry, and not when the version of the schema was written.
            schema = replace(schema, time_millis=0)
        table = Table(
            name=f"{self.name}.{own}",
            path=place,
            file_io=self._file_io(place, own),
            schema=schema,
            branch=own.branch,
            authority=None if is_external else RestVersionManagement(self.client, own, str(found.get("id"))),
            access=self._access,
            executor=self.executor,
            guard=RestQueryAuth(self.client, _path(own))
            if TableOptions(schema.options).get(QUERY_AUTH_ENABLED)
            else None,
        )
        opened = kind.opened(table, self.options)
        if isinstance(opened, FormatTable) and _is_registered(schema):
            return replace(opened, register=RestPartitions(self.client, _path(own), table.name))
        return opened

    def create_any_table(self, identifier: Identifier, schema: TableSchema) -> AnyTable:
        kind = offered_kind(schema, self.name, self.options)
        check_name(identifier.table, "table")
        self._require(identifier.database)
        self._refuse_names(identifier)
        if kind is KINDS["format-table"] and _is_registered(schema) and PATH.key in schema.options:
            raise InvalidSchemaError(
                f"{self.name}.{identifier}: the catalog lists partitions only of tables in its own folder.",
                remedy=f"Leave LOCATION or '{METASTORE_PARTITIONED_TABLE.key}' out.",
            )
        location = schema.options.get(PATH.key) or self.table_location(identifier)
        file_io = file_io_of(location, self.options)
        check_named_branches(schema, BranchManager(file_io, TablePaths(location)))
        if kind is KINDS["table"] and PATH.key in schema.options:
            schema = _as_it_stands(schema, SchemaManager(file_io, location).latest())
        body = {"identifier": named(identifier), "schema": _definition_for_server(schema)}
        try:
            with self._within(identifier.database):
                self.client.post("databases", identifier.database, "tables", body=body)
        except ConflictAnswerError:
            raise self._taken_table(identifier) from None
        made = self.authorized_table(identifier)
        if isinstance(made, Table) and made.authority is None and made.schemas.latest() is None:
            # Whoever opens the table by its path has to find its definition there, whether the server writes it or not.
            made.schemas.try_add(made.schema)
        return made

    def drop_table(self, identifier: Identifier) -> None:
        with self._no_table(identifier):
            self.client.delete(*_path(identifier))

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        self._require(target.database)
        check_name(target.table, "table")
        self._refuse_names(target)
        if self.table_exists(target):
            raise self._taken_table(target)
        try:
            with self._no_table(source):
                self.client.post("tables", "rename", body={"source": named(source), "destination": named(target)})
        except ConflictAnswerError:
            raise self._taken_table(target) from None

    def replace_table(self, identifier: Identifier, schema: TableSchema) -> None:
        try:
            self.client.post(*_path(identifier), "replace", body={"schema": _definition_for_server(schema)})
        except NotFoundAnswerError as error:
            missing = f"{self.name}.{identifier}"
            if error.resource == "TABLE":
                raise NoSuchTableError(f"Table {missing} does not exist.", name=missing) from None
            raise UnsupportedError(
                f"{missing} cannot be replaced: the catalog's server only takes changes of a definition.",
                remedy="DROP the table and CREATE it anew.",
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
            with self._no_table(identifier):
                self.client.post(*_path(identifier), body={"changes": changes})
        except ConflictAnswerError as error:
            raise InvalidSchemaError(error.message) from None
        made = self.authorized_table(identifier)
        if isinstance(made, Table):
            publish_quietly(made)
        return made.schema

    def _database(self, database: str) -> dict[str, Any] | None:
        """What the server says of a database, None if there is none."""
        try:
            return self.client.get("databases", database)
        except NotFoundAnswerError:
            return None

    def _found(self, identifier: Identifier) -> dict[str, Any] | None:
        """What the server says of a table or branch, None if there is none."""
        try:
            return self.client.get(*_path(identifier))
        except NotFoundAnswerError:
            return None

    def _file_io(self, place: str, identifier: Identifier) -> FileIO:
        if TableOptions(self.options).get(DATA_TOKEN_ENABLED) and scheme_of(place) not in _OPEN_SCHEMES:
            return TokenFileIO(TokenProvider(self.client, _path(identifier)), self.options)
        return file_io_of(place, self.options)

    @contextmanager
    def _no_table(self, identifier: Identifier) -> Iterator[None]:
        """Say of what is not there that it is the table, unless it is a column of it."""
        missing = f"{self.name}.{identifier}"
        with self._missing(NoSuchTableError(f"Table {missing} does not exist.", name=missing), identifier.database):
            try:
                yield
            except NotFoundAnswerError as error:
                if error.resource == "COLUMN":
                    raise InvalidSchemaError(error.message) from None
                raise


def _path(identifier: Identifier) -> tuple[str, ...]:
    own = replace(identifier, system_table=None)
    return "databases", own.database, "tables", own.object_name


def _place(found: Mapping[str, Any], identifier: Identifier) -> str:
    """The folder where the server says that a table stands."""
    place = str(found.get("path") or "").rstrip("/")
    if not place:
        raise CatalogUnavailableError(f"The catalog's server does not say where table {identifier} stands.")
    return place


def _as_it_stands(schema: TableSchema, existing: TableSchema | None) -> TableSchema:
    """The definition of a new external table: that of the table which stands in its place, if there is one.

    Raises:
        InvalidInputError: the table that stands there is another one.
    """
    if existing is None:
        return schema
    place = schema.options[PATH.key]
    check_same(existing, schema, place)
    return replace(existing, options={**existing.options, PATH.key: place})


def _is_registered(schema: TableSchema) -> bool:
    """Whether the server keeps the list of a format table's partitions."""
    return bool(schema.partition_keys) and bool(TableOptions(schema.options).get(METASTORE_PARTITIONED_TABLE))


def _schema(found: Mapping[str, Any], place: str) -> TableSchema:
    """The definition of a table as the server says it."""
    said = found["schema"]
    fields = tuple(parse_field(f) for f in said["fields"])
    options = {str(k): str(v) for k, v in (said.get("options") or {}).items()}
    if options.get(PATH.key, "").rstrip("/") == place:
        del options[PATH.key]
    return TableSchema(
        id=int(found["schemaId"]),
        fields=fields,
        highest_field_id=max(field_ids(RowType(True, fields)), default=-1),
        partition_keys=tuple(said.get("partitionKeys") or ()),
        primary_keys=tuple(said.get("primaryKeys") or ()),
        options=options,
        comment=said.get("comment"),
        time_millis=int(found.get("updatedAt") or 0),
    )


def _definition_for_server(schema: TableSchema) -> dict[str, Any]:
    """A new table's definition as the server is told it."""
    return {
        "fields": [f.to_json() for f in schema.fields],
        "partitionKeys": list(schema.partition_keys),
        "primaryKeys": list(schema.primary_keys),
        "options": dict(schema.options),
        "comment": schema.comment,
    }
