"""A server as one catalog sees it: its part of the server's paths, and lists that come in pages."""

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
    """The server behind the prefix that it gave the catalog; it can be pickled.

    Attributes:
        server: the server.
        prefix: what its paths begin with; empty for nothing.
    """

    server: Server
    prefix: str

    def get(self, *path: str) -> dict[str, Any]:
        """What stands at a path."""
        return self.server.ask("GET", self._path(path))

    def post(self, *path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """What the server answers to what it is told."""
        return self.server.ask("POST", self._path(path), body=body)

    def delete(self, *path: str) -> None:
        """Remove what stands at a path."""
        self.server.ask("DELETE", self._path(path))

    def listed(self, *path: str, member: str) -> list[Any]:
        """All entries of a list, which the server hands out in pages.

        Args:
            path: where it stands.
            member: the member of each page that holds entries.

        Raises:
            CatalogUnavailableError: the pages go in a circle.
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
    """The client of a catalog, and its options with what the server adds to them and puts in their place.

    Args:
        catalog: the catalog's name.
        options: its options as they were given.

    Raises:
        InvalidOptionError: an option is missing or wrong.
        CatalogUnavailableError: the server cannot be reached or refuses.
    """
    server = Server.of(catalog, options)
    warehouse = options.get(_WAREHOUSE)
    said = server.ask("GET", ["config"], {_WAREHOUSE: warehouse} if warehouse else None)
    given = [
        {str(k): str(v) for k, v in (said.get(m) or {}).items() if v is not None} for m in ("defaults", "overrides")
    ]
    merged = {**given[0], **options, **given[1]}
    # Who asks and where stays as it was given: what comes from the server may only add headers.
    own = {k: v for k, v in options.items() if k in _OWN or k.startswith(_SIGNING)}
    return RestClient(Server.of(catalog, {**merged, **own}), merged.get(_PREFIX, "")), merged
