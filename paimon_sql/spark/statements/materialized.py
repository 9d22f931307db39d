"""Materialized tables: CREATE, ALTER, DROP and SHOW."""

from __future__ import annotations

import re
from dataclasses import astuple

from paimon_sql.catalog.iceberg.tables import withdrawing
from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier
from paimon_sql.errors import NoSuchTableError
from paimon_sql.format.schema.types import DataField, string_type
from paimon_sql.procedures.refresh.refresh_materialized_table import RefreshMaterializedTable as RefreshProcedure
from paimon_sql.spark.execution.carried_statement import Answer, Runner, StatementContext
from paimon_sql.spark.materialized.define import Definer
from paimon_sql.spark.materialized.refresh import SessionRefresher
from paimon_sql.spark.tables.placement import refuse_branches_and_system_tables
from paimon_sql.sql.statements.tables import materialized as sql
from paimon_sql.sql.text.names import Wildcard, quote_name, quote_path, string_sql, wildcard_pattern
from paimon_sql.storage.materialized.definition import definition_of, is_materialized, shown_options
from paimon_sql.system_tables.catalog.materialized_tables import materialized_names


class RunCreateMaterialized(Runner[sql.CreateMaterializedTable]):
    """CREATE MATERIALIZED TABLE."""

    def run(self, statement: sql.CreateMaterializedTable, context: StatementContext) -> None:
        Definer(context).create(statement)


class RunChangeMaterializedQuery(Runner[sql.ChangeMaterializedQuery]):
    """ALTER MATERIALIZED TABLE .. AS."""

    def run(self, statement: sql.ChangeMaterializedQuery, context: StatementContext) -> None:
        Definer(context).redefine(statement)


class RunSuspendMaterialized(Runner[sql.SuspendMaterializedTable]):
    """ALTER MATERIALIZED TABLE .. SUSPEND."""

    def run(self, statement: sql.SuspendMaterializedTable, context: StatementContext) -> None:
        Definer(context).suspend(context.identifier(statement.table))


class RunResumeMaterialized(Runner[sql.ResumeMaterializedTable]):
    """ALTER MATERIALIZED TABLE .. RESUME."""

    def run(self, statement: sql.ResumeMaterializedTable, context: StatementContext) -> None:
        Definer(context).resume(context.identifier(statement.table), statement.options)


class RunRefreshMaterialized(Runner[sql.RefreshMaterializedTable]):
    """ALTER MATERIALIZED TABLE .. REFRESH; the result is that of the procedure."""

    def run(self, statement: sql.RefreshMaterializedTable, context: StatementContext) -> Answer:
        identifier = context.identifier(statement.table)
        refresher = SessionRefresher(context.session, context.catalog)
        done = refresher.refresh(identifier, [statement.partition] if statement.partition else None)
        return Answer(RefreshProcedure.results, [(str(identifier), *astuple(done))])


class RunDropMaterialized(Runner[sql.DropMaterializedTable]):
    """DROP MATERIALIZED TABLE."""

    def run(self, statement: sql.DropMaterializedTable, context: StatementContext) -> None:
        identifier = context.identifier(statement.table)
        refuse_branches_and_system_tables(identifier, "dropped")
        try:
            table = context.catalog.table(identifier)
        except NoSuchTableError:
            if statement.if_exists:
                return
            raise
        if not is_materialized(table.schema):
            definition_of(table.schema, table.name)
        with withdrawing(context.catalog, identifier):
            context.catalog.drop_table(identifier)


class RunShowMaterializedTables(Runner[sql.ShowMaterializedTables]):
    """SHOW MATERIALIZED TABLES, with the columns of SHOW TABLES."""

    def run(self, statement: sql.ShowMaterializedTables, context: StatementContext) -> Answer:
        database = ".".join(statement.database[1:])
        names = [] if database.lower() == SYSTEM_DATABASE else materialized_names(context.catalog, database)
        pattern = _pattern(statement.pattern)
        columns = (DataField(-1, "namespace", string_type(False)), DataField(-1, "tableName", string_type(False)))
        return Answer(columns, [(database, name) for name in names if pattern.fullmatch(name)])


class RunShowCreateMaterialized(Runner[sql.ShowCreateMaterializedTable]):
    """SHOW CREATE MATERIALIZED TABLE."""

    def run(self, statement: sql.ShowCreateMaterializedTable, context: StatementContext) -> Answer:
        identifier = context.identifier(statement.table)
        return Answer.of_names("createtab_stmt", [_create_sql(context, identifier)])


def _create_sql(context: StatementContext, identifier: Identifier) -> str:
    table = context.catalog.table(identifier)
    schema, definition = table.schema, definition_of(table.schema, table.name)
    columns = [
        f"  {quote_name(f.name)}" + (f" COMMENT {string_sql(f.description)}" if f.description else "")
        for f in schema.fields
    ]
    if schema.has_key:
        columns.append(f"  PRIMARY KEY ({', '.join(map(quote_name, schema.primary_keys))}) NOT ENFORCED")
    name = quote_path((context.catalog.name, identifier.database, identifier.table))
    lines = [f"CREATE MATERIALIZED TABLE {name} (", ",\n".join(columns), ")"]
    if schema.comment:
        lines.append(f"COMMENT {string_sql(schema.comment)}")
    if schema.partition_keys:
        lines.append(f"PARTITIONED BY ({', '.join(map(quote_name, schema.partition_keys))})")
    options = {k: v for k, v in sorted(shown_options(schema).items()) if k != "owner"}
    if options:
        pairs = ",\n".join(f"  {string_sql(k)} = {string_sql(v)}" for k, v in options.items())
        lines.append(f"WITH (\n{pairs}\n)")
    lines.append(f"FRESHNESS = {definition.freshness}")
    if definition.logical_mode == definition.mode:
        lines.append(f"REFRESH_MODE = {definition.mode}")
    return "\n".join([*lines, "AS", definition.query])


def _pattern(text: str | None) -> re.Pattern[str]:
    """The pattern of LIKE: ``%`` or ``*`` for any characters, ``_`` for one."""
    wildcards = {"%": Wildcard.ANY, "*": Wildcard.ANY, "_": Wildcard.ONE}
    return wildcard_pattern(wildcards.get(c, c) for c in text or "%")
