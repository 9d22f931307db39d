"""Registry of the kinds of catalogs, by the option ``metastore``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.filesystem.catalog import FileSystemCatalog
from paimon_sql.catalog.jdbc.catalog import JdbcCatalog
from paimon_sql.catalog.warehouse import absolute_warehouse
from paimon_sql.errors import InvalidOptionError, SetupError

Kind = Callable[[str, Mapping[str, str]], Catalog]
"""Opens a catalog by name and options."""


def _of_extra(extra: str, catalog: str, client: str) -> Kind:
    """A kind whose client is an extra of this package, imported when a catalog of the kind is opened.

    Args:
        extra: the name of the extra and of the module.
        catalog: the class in the module.
        client: the client, for the error.
    """

    def opened(name: str, options: Mapping[str, str]) -> Catalog:
        try:
            module = import_module(f"paimon_sql.catalog.{extra}.catalog")
        except ModuleNotFoundError as error:
            raise SetupError(
                f"Catalog {name}: {client} is not installed ({error}).",
                remedy=f"Run: pip install 'paimon-sql[{extra}]'.",
            ) from error
        opened_catalog: Catalog = getattr(module, catalog)(name, options)
        return opened_catalog

    return opened


KINDS: dict[str, Kind] = {
    "filesystem": FileSystemCatalog,
    "jdbc": JdbcCatalog,
    "hive": _of_extra("hive", "HiveCatalog", "the client of Hive's metastore"),
    "rest": _of_extra("rest", "RestCatalog", "the client of REST catalogs"),
}
"""The kinds by the values of ``metastore``."""

_NAMED_WAREHOUSE = ("rest",)
"""The kinds whose ``warehouse`` is a name on a server, not a directory."""


def open_catalog(name: str, options: Mapping[str, str]) -> Catalog:
    """Open the catalog of these options.

    Raises:
        InvalidOptionError: ``metastore`` is unknown, or a required option is missing.
    """
    kind = _kind(options)
    if kind not in KINDS:
        raise InvalidOptionError(
            f"Catalog {name}: '{kind}' is no kind of metastore.", key="metastore", remedy=f"Use one of {sorted(KINDS)}."
        )
    return KINDS[kind](name, options)


def normalized_warehouse(warehouse: str | os.PathLike[str], options: Mapping[str, str]) -> str:
    """The normalized warehouse of a catalog: directories as absolute paths, names unchanged."""
    return os.fspath(warehouse) if _kind(options) in _NAMED_WAREHOUSE else absolute_warehouse(warehouse)


def _kind(options: Mapping[str, str]) -> str:
    return options.get("metastore", "filesystem").lower()
