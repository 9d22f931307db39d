"""CREATE TABLE LIKE in Flink's spelling."""

from __future__ import annotations

from paimon_sql.errors import UnsupportedError
from paimon_sql.spark.ddl import schema_like
from paimon_sql.spark.placement import placed
from paimon_sql.spark.statements.base import Answer, Runner, Surroundings
from paimon_sql.sql.statements.create_table_like import CreateTableLike


class RunCreateTableLike(Runner):
    """CREATE TABLE .. LIKE: columns, keys and options of another table, with options put over them."""

    statement = CreateTableLike

    def run(self, statement: CreateTableLike, surroundings: Surroundings) -> Answer:
        target = surroundings.identifier(statement.table)
        catalog = surroundings.catalog
        if statement.if_not_exists and (catalog.table_exists(target) or catalog.is_taken(target)):
            return Answer()
        if statement.source[0] != catalog.name:
            raise UnsupportedError(
                f"CREATE TABLE LIKE takes a table of the same catalog, not {'.'.join(statement.source)}.",
                remedy="Use CREATE TABLE .. AS SELECT .. WHERE false.",
            )
        source = catalog.guarded_table(surroundings.identifier(statement.source)).schema
        properties = dict(statement.options)
        if statement.provider:
            properties["provider"] = statement.provider
        if statement.location:
            properties["location"] = statement.location
        schema = schema_like(source, properties, statement.features)
        catalog.create_any_table(target, placed(catalog, target, schema))
        return Answer()
