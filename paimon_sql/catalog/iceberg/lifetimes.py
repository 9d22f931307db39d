"""What Iceberg's readers see of a table that is dropped or gets another name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import PaimonError
from paimon_sql.storage.iceberg import is_published, publish_quietly, withdraw_quietly
from paimon_sql.storage.table import Table


@contextmanager
def shown_no_more(catalog: Catalog, identifier: Identifier) -> Iterator[None]:
    """Let a table that goes, or leaves its name, go from catalogs of Iceberg's behind the ``with``."""
    table = _published(catalog, identifier)
    yield
    if table is not None:
        withdraw_quietly(table)


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
