"""CREATE CATALOG and DROP CATALOG: catalogs of this session."""

from __future__ import annotations

from paimon_sql.errors import AlreadyExistsError, NotFoundError
from paimon_sql.spark.statements.base import Answer, Runner, Surroundings
from paimon_sql.sql.kept_values import kept, release
from paimon_sql.sql.statements.catalogs import CreateCatalog, DropCatalog


class RunCreateCatalog(Runner):
    """CREATE CATALOG .. WITH."""

    statement = CreateCatalog

    def run(self, statement: CreateCatalog, surroundings: Surroundings) -> Answer:
        try:
            options = {k: kept(v) for k, v in statement.options.items() if k != "type"}
            made = surroundings.add_catalog(statement.name, options)
        finally:
            release(statement.options.values())
        if not made and not statement.if_not_exists:
            raise AlreadyExistsError(f"Catalog {statement.name} already exists.", name=statement.name)
        return Answer()


class RunDropCatalog(Runner):
    """DROP CATALOG."""

    statement = DropCatalog

    def run(self, statement: DropCatalog, surroundings: Surroundings) -> Answer:
        if not surroundings.drop_catalog(statement.name) and not statement.if_exists:
            raise NotFoundError(f"Catalog {statement.name} is no Paimon catalog of this session.", name=statement.name)
        return Answer()
