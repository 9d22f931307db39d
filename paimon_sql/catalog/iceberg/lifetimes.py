"""Registrations in Iceberg's catalogs when tables are dropped, alone or with their database, or renamed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import NotFoundError, PaimonError
from paimon_sql.storage.iceberg import is_published, publish_quietly, withdraw_quietly
from paimon_sql.storage.table.table import Table


@contextmanager
def withdrawing(catalog: Catalog, identifier: Identifier) -> Iterator[None]:
    """Withdraw a table that is dropped or renamed from Iceberg's catalogs, at the end of the ``with``."""
    table = _published(catalog, identifier)
    yield
    if table is not None:
        withdraw_quietly(table)


@contextmanager
def database_shown_no_more(catalog: Catalog, database: str) -> Iterator[None]:
    """Withdraw the tables of a dropped database from Iceberg's catalogs, at the end of the ``with``.

    If the drop failed, only the tables that do not exist any more are withdrawn.
    """
    published: dict[Identifier, Table] = {}
    with suppress(PaimonError, OSError):  # the drop itself reports errors
        names = [Identifier(database, name) for name in catalog.list_tables(database)]
        published = {name: table for name in names if (table := _published(catalog, name)) is not None}
    try:
        yield
    finally:
        for identifier, table in published.items():
            if _is_dropped(catalog, identifier):
                withdraw_quietly(table, with_database=True)


def shown_again(catalog: Catalog, identifier: Identifier) -> None:
    """Register a table in Iceberg's catalogs under its new name."""
    table = _published(catalog, identifier)
    if table is not None:
        publish_quietly(table)


def _published(catalog: Catalog, identifier: Identifier) -> Table | None:
    try:
        table = catalog.any_table(identifier)
    except (PaimonError, OSError):
        return None
    return table if isinstance(table, Table) and is_published(table) else None


def _is_dropped(catalog: Catalog, identifier: Identifier) -> bool:
    try:
        return not catalog.table_exists(identifier)
    except NotFoundError:
        return True
    except (PaimonError, OSError):
        return False
