"""CREATE CATALOG and DROP CATALOG, for catalogs of the session."""

from __future__ import annotations

from paimon_sql.errors import AlreadyExistsError, NotFoundError
from paimon_sql.spark.execution.carried_statement import Answer, Runner, StatementContext
from paimon_sql.sql.statements.catalogs import CreateCatalog, DropCatalog
from paimon_sql.sql.text.secrets import kept, release


class RunCreateCatalog(Runner):
    """CREATE CATALOG .. WITH."""

    statement = CreateCatalog

    def run(self, statement: CreateCatalog, context: StatementContext) -> Answer:
        try:
            options = {k: kept(v) for k, v in statement.options.items() if k != "type"}
            added = context.add_catalog(statement.name, options)
        finally:
            release(statement.options.values())
        if not added and not statement.if_not_exists:
            raise AlreadyExistsError(f"Catalog {statement.name} already exists.", name=statement.name)
        return Answer()


class RunDropCatalog(Runner):
    """DROP CATALOG."""

    statement = DropCatalog

    def run(self, statement: DropCatalog, context: StatementContext) -> Answer:
        if not context.drop_catalog(statement.name) and not statement.if_exists:
            raise NotFoundError(f"Catalog {statement.name} is no Paimon catalog of this session.", name=statement.name)
        return Answer()
