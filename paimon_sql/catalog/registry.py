"""Registry of the kinds of catalogs, by the option ``metastore``."""

from __future__ import annotations

import os
from collections.abc import Mapping

from paimon_sql.catalog.catalog import ALONE, Catalog, Host
from paimon_sql.catalog.kinds.base import CatalogKind
from paimon_sql.catalog.warehouse import absolute_warehouse
from paimon_sql.discovery import instances
from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import METASTORE

DEFAULT_CATALOG = "paimon"
DEFAULT_WAREHOUSE = "warehouse"
CATALOG_PREFIX = "spark.sql.catalog."
"""The prefix of Spark's settings of catalogs."""
IMPLEMENTATION = "paimon_sql"
"""The value of ``spark.sql.catalog.<name>`` that makes a catalog ours."""
KINDS = instances("paimon_sql.catalog.kinds", CatalogKind)
"""The kinds by the values of ``metastore``."""


def open_catalog(name: str, options: Mapping[str, str], host: Host = ALONE) -> Catalog:
    """Open the catalog of these options.

    Raises:
        InvalidOptionError: ``metastore`` is unknown, or a required option is missing.
    """
    kind = catalog_kind(options)
    if kind is None:
        raise InvalidOptionError(
            f"Catalog {name}: '{_metastore(options)}' is not a supported metastore.",
            key=METASTORE.key,
            remedy=f"Use one of {sorted(KINDS)}.",
        )
    return kind.open(name, options, host)


def open_default_catalog(warehouse: str | os.PathLike[str] | None, options: Mapping[str, str]) -> Catalog:
    """Open the catalog ``paimon`` of a warehouse.

    Args:
        warehouse: its directory or URI; ``./warehouse`` by default.
        options: the catalog's options, which win over it.

    Raises:
        InvalidOptionError: as `open_catalog`.
    """
    where = normalized_warehouse(warehouse or DEFAULT_WAREHOUSE, options)
    return open_catalog(DEFAULT_CATALOG, {"warehouse": where, **options})


def catalog_kind(options: Mapping[str, str]) -> CatalogKind | None:
    """The kind of a catalog with these options; None if there is no such kind."""
    return KINDS.get(_metastore(options))


def normalized_warehouse(warehouse: str | os.PathLike[str], options: Mapping[str, str]) -> str:
    """The normalized warehouse of a catalog: directories as absolute paths, names unchanged."""
    kind = catalog_kind(options)
    return absolute_warehouse(warehouse) if kind is None or kind.has_directory else os.fspath(warehouse)


def _metastore(options: Mapping[str, str]) -> str:
    return TableOptions(options).get(METASTORE).lower()
