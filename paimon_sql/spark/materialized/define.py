"""Definition of materialized tables: created and altered after their query is analyzed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from paimon_sql.catalog.alter_table import change_table
from paimon_sql.catalog.iceberg.tables import withdrawing
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import (
    CommitUnknownError,
    InvalidInputError,
    InvalidOptionError,
    InvalidSchemaError,
    TableExistsError,
)
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.materialized_table import (
    MATERIALIZED_TABLE_DEFINITION_QUERY,
    MATERIALIZED_TABLE_REFRESH_HANDLER_BYTES,
    MATERIALIZED_TABLE_REFRESH_HANDLER_DESCRIPTION,
    MATERIALIZED_TABLE_REFRESH_ON_CREATE,
    MATERIALIZED_TABLE_REFRESH_STATUS,
)
from paimon_sql.format.options.table.table import PRIMARY_KEY, TYPE
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.types import FieldJson, paimon_fields, struct_of
from paimon_sql.spark.ddl.create_table import build_schema
from paimon_sql.spark.execution.carried_statement import StatementContext, is_read_only
from paimon_sql.spark.jvm.errors import one_error
from paimon_sql.spark.materialized.query import AnalyzedQuery, QualifiedNames
from paimon_sql.spark.materialized.refresh import Periods, SessionRefresher, stored_settings, with_settings
from paimon_sql.spark.tables.placement import with_location
from paimon_sql.sql.statements.tables.materialized import ChangeMaterializedQuery, CreateMaterializedTable
from paimon_sql.storage.materialized.definition import (
    ACTIVATED,
    SUSPENDED,
    Definition,
    Freshness,
    date_formatters,
    definition_of,
    new_definition,
    read_freshness,
)
from paimon_sql.storage.schema.changes.alter_columns import AddColumn
from paimon_sql.storage.schema.changes.base import SchemaChange
from paimon_sql.storage.schema.changes.options import RemoveOption, SetOption

_PREFIX = "materialized-table."
_USER_OPTION = MATERIALIZED_TABLE_REFRESH_ON_CREATE.key


class Definer:
    """Creates and alters materialized tables.

    Args:
        context: the statement context.
    """

    def __init__(self, context: StatementContext) -> None:
        self._context = context
        self._session = context.session
        self._catalog = context.catalog
        self._case_sensitive = context.session.case_sensitive
        self._folded: Callable[[str], str] = str if self._case_sensitive else str.lower

    def create(self, statement: CreateMaterializedTable) -> None:
        """Create a table from a query and refresh it; if the refresh fails, the table is dropped.

        Raises:
            TableExistsError: there is a table of that name.
            InvalidInputError: the query cannot be executed.
            InvalidSchemaError, InvalidOptionError: the table's schema or options are invalid.
        """
        identifier = self._context.identifier(statement.table)
        if self._catalog.table_exists(identifier):
            if statement.or_alter:
                self._alter(identifier, statement)
            elif not statement.if_not_exists:
                raise TableExistsError(
                    f"Table {identifier} already exists.",
                    name=str(identifier),
                    remedy="Use CREATE OR ALTER to change a materialized table.",
                )
            return
        definition, query = self._read(identifier, statement.query, _freshness(statement), statement.refresh_mode)
        schema = with_location(self._catalog, identifier, self._schema(statement, definition, query))
        self._check_formatters(schema)
        self._catalog.create_table(identifier, schema)
        if not TableOptions(schema.options).get(MATERIALIZED_TABLE_REFRESH_ON_CREATE):
            return
        try:
            SessionRefresher(self._session, self._catalog).refresh(identifier)
        except CommitUnknownError:
            raise
        except BaseException:
            with withdrawing(self._catalog, identifier):
                self._catalog.drop_table(identifier)
            raise

    def redefine(self, statement: ChangeMaterializedQuery) -> None:
        """Replace the query of a table; new columns are last, and rows change with the next refresh.

        Raises:
            InvalidSchemaError: the query does not return the table's columns first, in their order and types.
        """
        identifier = self._context.identifier(statement.table)
        old = self._definition(identifier)
        definition, query = self._read(identifier, statement.query, old.freshness, None)
        self._change(identifier, replace(definition, mode=old.mode, logical_mode=old.logical_mode), query, {})

    def _alter(self, identifier: Identifier, statement: CreateMaterializedTable) -> None:
        """CREATE OR ALTER of an existing table."""
        self._definition(identifier)
        definition, query = self._read(identifier, statement.query, _freshness(statement), statement.refresh_mode)
        new_schema = self._schema(statement, definition, query)
        schema = self._catalog.table(identifier).schema
        if (new_schema.partition_keys, new_schema.primary_keys) != (schema.partition_keys, schema.primary_keys):
            raise InvalidSchemaError(
                f"{identifier}: the primary key and the partition columns of a materialized table cannot be changed.",
                remedy="Drop the table and create it again.",
            )
        self._change(identifier, definition, query, statement.options)

    def suspend(self, identifier: Identifier) -> None:
        """Suspend the scheduled refreshes of a table."""
        definition = self._definition(identifier)
        if definition.handler and not definition.is_suspended:
            raise InvalidInputError(
                f"{identifier} is kept up to date by {definition.handler}.", remedy="Suspend it in Flink."
            )
        self._set(identifier, {MATERIALIZED_TABLE_REFRESH_STATUS.key: SUSPENDED})

    def resume(self, identifier: Identifier, options: Mapping[str, str]) -> None:
        """Resume the scheduled refreshes of a table; the refresh handler of a suspended Flink job is removed."""
        definition = self._definition(identifier)
        if definition.handler and not definition.is_suspended:
            raise InvalidInputError(f"{identifier} is kept up to date by {definition.handler} already.")
        _check_options(options)
        self._set(
            identifier,
            {**options, MATERIALIZED_TABLE_REFRESH_STATUS.key: ACTIVATED},
            (MATERIALIZED_TABLE_REFRESH_HANDLER_BYTES.key, MATERIALIZED_TABLE_REFRESH_HANDLER_DESCRIPTION.key),
        )

    def _set(self, identifier: Identifier, options: Mapping[str, str], keys: tuple[str, ...] = ()) -> None:
        changes: list[SchemaChange] = [SetOption(k, v) for k, v in options.items()]
        change_table(
            self._catalog, identifier, [*changes, *map(RemoveOption, keys)], case_sensitive=self._case_sensitive
        )

    def _definition(self, identifier: Identifier) -> Definition:
        return definition_of(self._catalog.table(identifier).schema, str(identifier))

    def _read(
        self, identifier: Identifier, text: str, freshness: Freshness | None, mode: str | None
    ) -> tuple[Definition, AnalyzedQuery]:
        """The definition of a statement, and its analyzed query.

        Raises:
            InvalidInputError: the query is invalid, does not only read, or reads the table itself.
        """
        with one_error(f"The query of {identifier} cannot be parsed"):
            plan = self._session.parsed(text)
        if not is_read_only(self._session.jvm, plan):
            raise InvalidInputError(f"{identifier} requires a query that only reads.", remedy="Write a SELECT.")
        with one_error(f"The query of {identifier} cannot be analyzed"):
            self._session.frame(plan)  # the original text, so that errors have positions in the user's statement
        qualified = QualifiedNames(self._session, self._catalog).of(text, plan)
        settings = stored_settings(self._session)
        definition = new_definition(qualified, freshness, mode, settings)
        with with_settings(self._session, settings):
            query = AnalyzedQuery(self._session, qualified, str(identifier))
        if f"{self._catalog.name}.{identifier}" in query.source_names:
            raise InvalidInputError(f"The query of {identifier} reads the table itself.")
        return definition, query

    def _schema(self, statement: CreateMaterializedTable, definition: Definition, query: AnalyzedQuery) -> TableSchema:
        """The first version of the table's schema.

        Raises:
            InvalidSchemaError, InvalidOptionError: the columns or options are invalid.
        """
        _check_options(statement.options)
        properties = {**statement.options, **definition.options()}
        if statement.primary_key:
            if PRIMARY_KEY.key in properties:
                raise InvalidOptionError("The primary key is specified twice.", key=PRIMARY_KEY.key)
            properties[PRIMARY_KEY.key] = ",".join(statement.primary_key)
        if statement.comment is not None:
            properties["comment"] = statement.comment
        fields = self._named(_struct(query, statement.column_comments), statement.columns)
        return build_schema(
            struct_of(fields),
            statement.partitions,
            properties,
            catalog_options=self._catalog.options,
            case_sensitive=self._case_sensitive,
        )

    def _named(self, fields: list[FieldJson], names: tuple[str, ...]) -> list[FieldJson]:
        """The columns of the query in the order of the given names, which must be those of all columns."""
        if not names:
            return fields
        known = {self._folded(field["name"]): field for field in fields}
        if len(names) != len(fields) or {self._folded(n) for n in names} != known.keys():
            columns = ", ".join(field["name"] for field in fields)
            raise InvalidSchemaError(
                f"The columns ({', '.join(names)}) do not match the columns of the query ({columns}).",
                remedy="List each once, in any order, or leave the list out and name them by AS in the query.",
            )
        return [{**known[self._folded(name)], "name": name} for name in names]

    def _check_formatters(self, schema: TableSchema) -> None:
        if formatters := date_formatters(schema):
            Periods(self._session, schema, formatters)

    def _change(
        self, identifier: Identifier, definition: Definition, query: AnalyzedQuery, options: Mapping[str, str]
    ) -> None:
        """Change the definition, options and columns of a table in one schema version."""
        _check_options(options)
        table = self._catalog.table(identifier)
        current = definition_of(table.schema, str(identifier))
        given = paimon_fields(struct_of(_struct(query, {})))
        new = self._new_columns(identifier, table.schema, given)
        changes: list[SchemaChange] = [AddColumn((f.name,), f.type.as_nullable(), f.description) for f in new]
        to_set = {**options, **replace(definition, status=current.status).options()}
        to_set.pop(TYPE.key)
        changes += [SetOption(k, v) for k, v in to_set.items()]
        self._check_formatters(table.with_options(options).schema)
        change_table(self._catalog, identifier, changes, case_sensitive=self._case_sensitive)

    def _new_columns(
        self, identifier: Identifier, schema: TableSchema, given: tuple[DataField, ...]
    ) -> tuple[DataField, ...]:
        """The columns of a query after those of the table.

        Raises:
            InvalidSchemaError: the query does not return the table's columns first.
        """
        for i, field in enumerate(schema.fields):
            found = given[i] if i < len(given) else None
            same = found is not None and self._folded(found.name) == self._folded(field.name)
            if found is None or not same or found.type.as_nullable() != field.type.as_nullable():
                actual = f"{found.name} {found.type.as_nullable().sql()}" if found else "nothing"
                raise InvalidSchemaError(
                    f"Column {i + 1} of {identifier} is {field.name} {field.type.as_nullable().sql()}, but the"
                    f" new query returns {actual}.",
                    remedy="Return the table's columns first, in their order and types, and new columns last.",
                )
        return given[len(schema.fields) :]


def _struct(query: AnalyzedQuery, comments: Mapping[str, str]) -> list[FieldJson]:
    """The query's columns as nullable fields of Spark's struct JSON, with comments."""
    fields: list[FieldJson] = json.loads(query.frame.schema.json())["fields"]
    given = [comments.get(field["name"], field["metadata"].get("comment")) for field in fields]
    return [
        {**field, "nullable": True, "metadata": {} if comment is None else {"comment": comment}}
        for field, comment in zip(fields, given, strict=True)
    ]


def _freshness(statement: CreateMaterializedTable) -> Freshness | None:
    return read_freshness(*statement.freshness) if statement.freshness else None


def _check_options(options: Mapping[str, str]) -> None:
    """Raise InvalidOptionError for options that clauses of the statement set."""
    for key in options:
        if key in (TYPE.key, MATERIALIZED_TABLE_DEFINITION_QUERY.key) or (
            key.startswith(_PREFIX) and key != _USER_OPTION
        ):
            raise InvalidOptionError(
                f"The option '{key}' is set by the statement.",
                key=key,
                remedy="Use AS, FRESHNESS and REFRESH_MODE, or SUSPEND and RESUME to change the status.",
            )
