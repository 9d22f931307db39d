"""CREATE TABLE LIKE (Flink)."""

from __future__ import annotations

from paimon_sql.errors import UnsupportedError
from paimon_sql.spark.ddl.create_table import schema_like
from paimon_sql.spark.execution.carried_statement import Runner, StatementContext
from paimon_sql.spark.tables.placement import with_location
from paimon_sql.sql.statements.tables.create_table_like import CreateTableLike


class RunCreateTableLike(Runner[CreateTableLike]):
    """CREATE TABLE .. LIKE: a table with the columns, keys and options of another; the statement's options override."""

    def run(self, statement: CreateTableLike, context: StatementContext) -> None:
        target = context.identifier(statement.table)
        catalog = context.catalog
        if statement.if_not_exists and (catalog.table_exists(target) or catalog.host.is_used_outside(target)):
            return
        if statement.source[0] != catalog.name:
            raise UnsupportedError(
                f"CREATE TABLE LIKE takes a table of the same catalog, not {'.'.join(statement.source)}.",
                remedy="Use CREATE TABLE .. AS SELECT .. WHERE false.",
            )
        source = catalog.authorized_table(context.identifier(statement.source)).schema
        properties = dict(statement.options)
        if statement.provider:
            properties["provider"] = statement.provider
        if statement.location:
            properties["location"] = statement.location
        schema = schema_like(source, properties, statement.features)
        catalog.create_any_table(target, with_location(catalog, target, schema))
