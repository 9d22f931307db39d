"""Base class of the kinds of catalogs."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any, ClassVar

from paimon_sql.catalog.catalog import Catalog, Host
from paimon_sql.errors import SetupError


class CatalogKind:
    """A kind of catalog.

    Class attributes:
        name: the value of the option ``metastore``.
        has_directory: whether ``warehouse`` is a directory; otherwise it is a name on a server.
        stores_external: whether tables store whether they are EXTERNAL, whose files stay when they are dropped.
        catalog: the class of its catalogs, as ``module:class``.
        extra: the extra of this package with its client, and the client for errors; None if it needs none.
    """

    name: ClassVar[str]
    catalog: ClassVar[str]
    extra: ClassVar[tuple[str, str] | None] = None
    has_directory: ClassVar[bool] = True
    stores_external: ClassVar[bool] = False

    def open(self, name: str, options: Mapping[str, str], host: Host) -> Catalog:
        """Open a catalog.

        Args:
            name: its name in SQL.
            options: its options.
            host: what the program that opens it provides.

        Raises:
            InvalidOptionError: an option is invalid, or a required one is missing.
            SetupError: the client is not installed.
        """
        kind: type[Catalog] = (
            of_extra(self.catalog, *self.extra, f"Catalog {name}") if self.extra else resolve_name(self.catalog)
        )
        return kind(name, options, host)


def of_extra(name: str, extra: str, client: str, user: str) -> Any:
    """Import a class of a module whose client is an extra of this package.

    Args:
        name: the class, as ``module:class``.
        extra: the extra.
        client: the client, for the error.
        user: the catalog or table that needs it, for the error.

    Raises:
        SetupError: the client is not installed.
    """
    try:
        return resolve_name(name)
    except ModuleNotFoundError as error:
        raise SetupError(
            f"{user}: {client} is not installed ({error}).", remedy=f"Run: pip install 'paimon-sql[{extra}]'."
        ) from error
