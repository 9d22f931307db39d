"""CREATE CATALOG and DROP CATALOG, for catalogs of the session."""

from __future__ import annotations

from paimon_sql.errors import AlreadyExistsError, NotFoundError
from paimon_sql.spark.execution.carried_statement import Runner, StatementContext
from paimon_sql.sql.statements.catalogs import CreateCatalog, DropCatalog
from paimon_sql.sql.text.secrets import secret_store


class RunCreateCatalog(Runner[CreateCatalog]):
    """CREATE CATALOG .. WITH."""

    def run(self, statement: CreateCatalog, context: StatementContext) -> None:
        secrets = secret_store()
        try:
            options = {k: secrets.resolve(v) for k, v in statement.options.items() if k != "type"}
            added = context.session_catalogs.add(statement.name, options)
        finally:
            secrets.release(statement.options.values())
        if not added and not statement.if_not_exists:
            raise AlreadyExistsError(f"Catalog {statement.name} already exists.", name=statement.name)


class RunDropCatalog(Runner[DropCatalog]):
    """DROP CATALOG."""

    def run(self, statement: DropCatalog, context: StatementContext) -> None:
        if not context.session_catalogs.drop(statement.name) and not statement.if_exists:
            raise NotFoundError(
                f"Catalog {statement.name} is not a Paimon catalog of this session.", name=statement.name
            )
