"""The kinds of catalogs, by the option ``metastore``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.catalog.jdbc.catalog import JdbcCatalog
from paimon_sql.catalog.rest.catalog import RestCatalog
from paimon_sql.catalog.warehouse import absolute_warehouse
from paimon_sql.errors import InvalidOptionError, SetupError


def _hive(name: str, options: Mapping[str, str]) -> Catalog:
    """A Hive catalog, whose client of the metastore is an extra of this package."""
    try:
        module = import_module("paimon_sql.catalog.hive.catalog")
    except ModuleNotFoundError as error:
        raise SetupError(
            f"Catalog {name}: the client of Hive's metastore is not installed ({error}).",
            remedy="Run: pip install 'paimon-sql[hive]'.",
        ) from error
    catalog: Catalog = module.HiveCatalog(name, options)
    return catalog


KINDS: dict[str, Callable[[str, Mapping[str, str]], Catalog]] = {
    "filesystem": FileSystemCatalog,
    "jdbc": JdbcCatalog,
    "hive": _hive,
    "rest": RestCatalog,
}
"""The kinds by the values of ``metastore``."""

_NAMING = ("rest",)
"""The kinds whose ``warehouse`` is a name that a server knows, and no folder."""


def open_catalog(name: str, options: Mapping[str, str]) -> Catalog:
    """The catalog that the options describe.

    Raises:
        InvalidOptionError: ``metastore`` names no kind, or an option that the kind needs is missing.
    """
    kind = _kind(options)
    if kind not in KINDS:
        raise InvalidOptionError(
            f"Catalog {name}: '{kind}' is no kind of metastore.", key="metastore", remedy=f"Use one of {sorted(KINDS)}."
        )
    return KINDS[kind](name, options)


def kept_warehouse(warehouse: str | os.PathLike[str], options: Mapping[str, str]) -> str:
    """The warehouse of a catalog with these options as it is kept: a folder gets its full path, a name stays."""
    return os.fspath(warehouse) if _kind(options) in _NAMING else absolute_warehouse(warehouse)


def _kind(options: Mapping[str, str]) -> str:
    return options.get("metastore", "filesystem").lower()
