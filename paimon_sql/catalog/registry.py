"""The kinds of catalogs, by the option ``metastore``."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.catalog.jdbc.catalog import JdbcCatalog
from paimon_sql.errors import InvalidOptionError

KINDS: dict[str, type[Catalog]] = {"filesystem": FileSystemCatalog, "jdbc": JdbcCatalog}


def open_catalog(name: str, options: Mapping[str, str]) -> Catalog:
    """The catalog that the options describe.

    Raises:
        InvalidOptionError: ``metastore`` names no kind, or an option that the kind needs is missing.
    """
    kind = options.get("metastore", "filesystem").lower()
    if kind not in KINDS:
        raise InvalidOptionError(
            f"Catalog {name}: '{kind}' is no kind of metastore.", key="metastore", remedy=f"Use one of {sorted(KINDS)}."
        )
    return KINDS[kind](name, options)
