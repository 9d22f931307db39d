"""Client of a REST catalog: requests below the catalog's prefix, and paged lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paimon_sql.catalog.rest.http.connection import Server
from paimon_sql.errors import CatalogUnavailableError

_OWN, _SIGNING = ("uri", "token", "token.provider"), "dlf."
_PREFIX = "prefix"
_WAREHOUSE = "warehouse"
_PAGE_TOKEN = "pageToken"
_NEXT = "nextPageToken"


@dataclass(frozen=True)
class RestClient:
    """A client of one catalog; it can be pickled.

    Attributes:
        server: the server.
        prefix: the catalog's prefix of paths, assigned by the server; may be empty.
    """

    server: Server
    prefix: str

    def get(self, *path: str) -> dict[str, Any]:
        """GET a path."""
        return self.server.ask("GET", self._path(path))

    def post(self, *path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """POST to a path, and return the response."""
        return self.server.ask("POST", self._path(path), body=body)

    def delete(self, *path: str) -> None:
        """DELETE a path."""
        self.server.ask("DELETE", self._path(path))

    def listed(self, *path: str, member: str) -> list[Any]:
        """Get all pages of a list.

        Args:
            path: the path of the list.
            member: the name of the entries in each page.

        Raises:
            CatalogUnavailableError: a page token is repeated.
        """
        found: list[Any] = []
        tokens: set[str] = set()
        query: dict[str, str] = {}
        while True:
            page = self.server.ask("GET", self._path(path), query)
            entries = page.get(member) or []
            found += entries
            token = page.get(_NEXT)
            if not token or not entries:
                return found
            if token in tokens:
                raise CatalogUnavailableError(
                    f"The catalog's server {self.server.address} lists {member} in a circle: it gives out the same page"
                    " again."
                )
            tokens.add(token)
            query = {_PAGE_TOKEN: str(token)}

    def _path(self, path: tuple[str, ...]) -> list[str]:
        return [*([self.prefix] if self.prefix else []), *path]


def configured(catalog: str, options: Mapping[str, str]) -> tuple[RestClient, dict[str, str]]:
    """Return the client of a catalog, and its options merged with the server's defaults and overrides.

    Args:
        catalog: the catalog's name.
        options: its given options.

    Raises:
        InvalidOptionError: an option is missing or invalid.
        CatalogUnavailableError: the server cannot be reached or refuses.
    """
    server = Server.of(catalog, options)
    warehouse = options.get(_WAREHOUSE)
    response = server.ask("GET", ["config"], {_WAREHOUSE: warehouse} if warehouse else None)
    server_options = [
        {str(k): str(v) for k, v in (response.get(m) or {}).items() if v is not None} for m in ("defaults", "overrides")
    ]
    merged = {**server_options[0], **options, **server_options[1]}
    # Address and credentials are always those given: the server may only add headers.
    own = {k: v for k, v in options.items() if k in _OWN or k.startswith(_SIGNING)}
    return RestClient(Server.of(catalog, {**merged, **own}), merged.get(_PREFIX, "")), merged
