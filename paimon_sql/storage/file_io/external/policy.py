"""The policy of a catalog for locations outside of it that its tables may refer to.

Data refers to locations by blob descriptors, options by the URL of ``partition.mark-done-action`` and the endpoints of
``blob-descriptor.<property>``. A table's options never widen the policy: table and catalog options are set by different
people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from paimon_sql.errors import InvalidInputError, InvalidOptionError, NotAllowedError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import (
    BLOB_ALLOWED_ROOTS,
    BLOB_FETCH_MAX_SIZE,
    BLOB_FETCH_TIMEOUT,
    EXTERNAL_ALLOWED_ROOTS,
    HTTP_ALLOWED_URLS,
)
from paimon_sql.format.options.values import Option, comma_separated
from paimon_sql.storage.file_io.external.locations import WEB_PORTS, Location, redacted
from paimon_sql.storage.file_io.paths import scheme_of, without_scheme

_ENDPOINTS = ("endpoint", "url", "uri", "host", "address", "proxy")
"""Words in the keys of settings whose values determine where requests are sent."""


@dataclass(frozen=True)
class ExternalAccess:
    """The locations that one catalog allows.

    Attributes:
        warehouse: the catalog's warehouse, which may hold blobs; None without one.
        blob_roots: further locations that may hold blobs.
        urls: allowed targets of HTTP requests that table options name.
        blob_bytes: maximum size of a blob of the web.
        blob_seconds: time limit for fetching one.
        table_roots: allowed locations of tables' external directories; None allows any.
    """

    warehouse: str | None = None
    blob_roots: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    blob_bytes: int = BLOB_FETCH_MAX_SIZE.default
    blob_seconds: float = BLOB_FETCH_TIMEOUT.default.total_seconds()
    table_roots: tuple[str, ...] | None = None

    @classmethod
    def of(cls, options: Mapping[str, str], warehouse: str | None = None) -> ExternalAccess:
        """Create the policy of a catalog from its options.

        Raises:
            InvalidOptionError: an option is not a list of locations.
        """
        read = TableOptions(options).get
        roots = _locations(read(BLOB_ALLOWED_ROOTS), BLOB_ALLOWED_ROOTS, web_only=False)
        urls = _locations(read(HTTP_ALLOWED_URLS), HTTP_ALLOWED_URLS, web_only=True)
        seconds = read(BLOB_FETCH_TIMEOUT).total_seconds()
        given = read(EXTERNAL_ALLOWED_ROOTS)
        tables = None if given is None else _locations(given, EXTERNAL_ALLOWED_ROOTS, web_only=False)
        return cls(warehouse, roots, urls, read(BLOB_FETCH_MAX_SIZE), seconds, tables)

    def allows_root(self, root: str) -> bool:
        """Whether a directory that table options name may hold files of the table.

        A whole file system, a store without a bucket and a path with ``..`` never may.
        """
        try:
            place = Location.of(f"{root}/")
        except ValueError:
            return False
        parts = [part for part in without_scheme(f"{root}/")[1].split("/") if part]
        if {".", ".."} & set(parts) or not (place.parts or place.authority):
            return False
        return self.table_roots is None or any(place.is_below(Location.of(known)) for known in self.table_roots)

    def blob_place(self, uri: str, own: Iterable[str]) -> Location:
        """Return the location that a blob descriptor refers to.

        Args:
            uri: the descriptor's URI.
            own: locations that are allowed beside those of the catalog.

        Raises:
            InvalidInputError: the URI is not a location.
            NotAllowedError: the catalog does not allow it.
        """
        try:
            place = Location.of(uri)
        except ValueError as error:
            raise InvalidInputError(
                f"A descriptor of a blob names '{redacted(uri)}', which is no place: {error}."
            ) from None
        if not any(place.is_below(Location.of(root)) for root in (*self.blob_roots, *own)):
            raise NotAllowedError(
                f"A descriptor of a blob names {redacted(uri)}, from where the catalog allows no blobs.",
                remedy=f"Add its directory, bucket or address to the catalog's option '{BLOB_ALLOWED_ROOTS.key}'.",
            )
        return place

    def check_url(self, url: str, key: str) -> None:
        """Validate that table options may refer to a URL.

        Args:
            url: the URL.
            key: the option that names it.

        Raises:
            InvalidOptionError: it is not an HTTP URL.
            NotAllowedError: the catalog does not allow it.
        """
        try:
            place = Location.of(url)
            if place.scheme not in WEB_PORTS:
                raise ValueError("it does not begin with http:// or https://")
        except ValueError as error:
            raise InvalidOptionError(
                f"The option '{key}' is '{redacted(url)}', which is no address: {error}.", key=key
            ) from None
        if not any(place.is_below(Location.of(root)) for root in self.urls):
            raise NotAllowedError(
                f"The option '{key}' of a table leads to {redacted(url)}, which the catalog does not allow.",
                remedy=f"Add the address to the catalog's option '{HTTP_ALLOWED_URLS.key}'.",
            )

    def check_settings(self, settings: Mapping[str, str], prefix: str) -> None:
        """Validate that a table's settings of a file system send requests only to URLs that the catalog allows.

        Args:
            settings: the settings.
            prefix: prefix of their keys in the table's options.
        """
        for key, value in settings.items():
            if value and any(word in key.lower() for word in _ENDPOINTS):
                self.check_url(value if "://" in value else f"https://{value}", f"{prefix}{key}")


NO_ACCESS = ExternalAccess()
"""A policy that allows nothing outside of a table."""


def _locations(text: str | None, option: Option[str | None], *, web_only: bool) -> tuple[str, ...]:
    locations = tuple(comma_separated(text))
    for location in locations:
        try:
            Location.of(location)
            if web_only and scheme_of(location) not in WEB_PORTS:
                raise ValueError("it does not begin with http:// or https://")
        except ValueError as error:
            raise InvalidOptionError(
                f"The option '{option.key}' names '{redacted(location)}', which is no place: {error}.", key=option.key
            ) from None
    return locations
