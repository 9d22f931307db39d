"""What Iceberg's readers see of tables that are dropped, alone or with their database, or get another name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import NotFoundError, PaimonError
from paimon_sql.storage.iceberg import is_published, publish_quietly, withdraw_quietly
from paimon_sql.storage.table.table import Table


@contextmanager
def shown_no_more(catalog: Catalog, identifier: Identifier) -> Iterator[None]:
    """Let a table that goes, or leaves its name, go from catalogs of Iceberg's behind the ``with``."""
    table = _published(catalog, identifier)
    yield
    if table is not None:
        withdraw_quietly(table)


@contextmanager
def database_shown_no_more(catalog: Catalog, database: str) -> Iterator[None]:
    """Let the tables of a database that goes with them go from catalogs of Iceberg's behind the ``with``.

    Where the database could not be dropped, only the tables that are gone by then do.
    """
    shown: dict[Identifier, Table] = {}
    with suppress(PaimonError, OSError):  # whoever drops the database says what is wrong with it
        names = [Identifier(database, name) for name in catalog.list_tables(database)]
        shown = {name: table for name in names if (table := _published(catalog, name)) is not None}
    try:
        yield
    finally:
        for identifier, table in shown.items():
            if _has_gone(catalog, identifier):
                withdraw_quietly(table, with_database=True)


def shown_again(catalog: Catalog, identifier: Identifier) -> None:
    """Let Iceberg's readers see a table under a new name."""
    table = _published(catalog, identifier)
    if table is not None:
        publish_quietly(table)


def _published(catalog: Catalog, identifier: Identifier) -> Table | None:
    try:
        table = catalog.any_table(identifier)
    except (PaimonError, OSError):
        return None
    return table if isinstance(table, Table) and is_published(table) else None


def _has_gone(catalog: Catalog, identifier: Identifier) -> bool:
    try:
        return not catalog.table_exists(identifier)
    except NotFoundError:
        return True
    except (PaimonError, OSError):
        return False
