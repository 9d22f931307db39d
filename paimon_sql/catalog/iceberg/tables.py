"""Tables in Iceberg's catalogs: their names, and how drops and renames change their registrations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import NotFoundError, PaimonError
from paimon_sql.format.options.table.iceberg import METADATA_ICEBERG_DATABASE, METADATA_ICEBERG_TABLE
from paimon_sql.storage.iceberg import is_published, publish_quietly
from paimon_sql.storage.iceberg.withdrawal import withdraw_quietly
from paimon_sql.storage.table.table import Table


def databases_of(table: Table) -> list[str]:
    """The databases of the table: those of ``metadata.iceberg.database``, by default its own."""
    names: str = table.options.get(METADATA_ICEBERG_DATABASE) or ""
    return [part.strip() for part in names.split(";") if part.strip()] or [_parts(table)[0]]


def name_in_catalog(table: Table) -> str:
    """The name of the table: that of ``metadata.iceberg.table``, by default its own."""
    return table.options.get(METADATA_ICEBERG_TABLE) or _parts(table)[1]


def _parts(table: Table) -> tuple[str, str]:
    rest, _, name = table.name.rpartition(".")
    return rest.rpartition(".")[2], name


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
