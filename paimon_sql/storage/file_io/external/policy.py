"""What a catalog allows the data and options of its tables to name outside of them.

Data name places by descriptors of blobs, options by the address of ``partition.mark-done-action`` and the endpoints of
``blob-descriptor.<property>``. An option of a table never widens what is allowed: options of tables and catalogs come
from different people.
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
from paimon_sql.storage.file_io.external.locations import WEB_PORTS, Place, shown
from paimon_sql.storage.file_io.paths import scheme_of, without_scheme

_ENDPOINTS = ("endpoint", "url", "uri", "host", "address", "proxy")
"""Words in the keys of settings whose values say where requests go."""


@dataclass(frozen=True)
class ExternalAccess:
    """What one catalog allows.

    Attributes:
        warehouse: the catalog's own place, in which blobs may lie; None where it has none.
        blob_roots: further places in which blobs may lie.
        urls: what HTTP requests that options of tables name may go to.
        blob_bytes: how large a blob of the web may be.
        blob_seconds: how long it may take to fetch one.
        table_roots: the places in which external directories of tables may lie; None for any.
    """

    warehouse: str | None = None
    blob_roots: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    blob_bytes: int = BLOB_FETCH_MAX_SIZE.default
    blob_seconds: float = BLOB_FETCH_TIMEOUT.default.total_seconds()
    table_roots: tuple[str, ...] | None = None

    @classmethod
    def of(cls, options: Mapping[str, str], warehouse: str | None = None) -> ExternalAccess:
        """What a catalog with these options allows.

        Raises:
            InvalidOptionError: an option names no place.
        """
        read = TableOptions(options).get
        roots = _listed(read(BLOB_ALLOWED_ROOTS), BLOB_ALLOWED_ROOTS, web_only=False)
        urls = _listed(read(HTTP_ALLOWED_URLS), HTTP_ALLOWED_URLS, web_only=True)
        seconds = read(BLOB_FETCH_TIMEOUT).total_seconds()
        given = read(EXTERNAL_ALLOWED_ROOTS)
        tables = None if given is None else _listed(given, EXTERNAL_ALLOWED_ROOTS, web_only=False)
        return cls(warehouse, roots, urls, read(BLOB_FETCH_MAX_SIZE), seconds, tables)

    def allows_root(self, root: str) -> bool:
        """Whether a directory that options of a table name may hold files of the table.

        A whole file system, a store without a bucket and what leads upwards never may.
        """
        try:
            place = Place.of(f"{root}/")
        except ValueError:
            return False
        parts = [part for part in without_scheme(f"{root}/")[1].split("/") if part]
        if {".", ".."} & set(parts) or not (place.parts or place.authority):
            return False
        return self.table_roots is None or any(place.is_below(Place.of(known)) for known in self.table_roots)

    def blob_place(self, uri: str, own: Iterable[str]) -> Place:
        """The place of a blob that a descriptor names.

        Args:
            uri: what the descriptor says.
            own: places that are allowed beside those that the catalog lists.

        Raises:
            InvalidInputError: it names no place.
            NotAllowedError: the catalog does not allow it.
        """
        try:
            place = Place.of(uri)
        except ValueError as error:
            raise InvalidInputError(
                f"A descriptor of a blob names '{shown(uri)}', which is no place: {error}."
            ) from None
        if not any(place.is_below(Place.of(root)) for root in (*self.blob_roots, *own)):
            raise NotAllowedError(
                f"A descriptor of a blob names {shown(uri)}, from where the catalog allows no blobs.",
                remedy=f"Add its directory, bucket or address to the catalog's option '{BLOB_ALLOWED_ROOTS.key}'.",
            )
        return place

    def check_url(self, url: str, key: str) -> None:
        """Refuse an address to which options of tables may not lead.

        Args:
            url: the address.
            key: the option that names it.

        Raises:
            InvalidOptionError: it is no address of HTTP.
            NotAllowedError: the catalog does not list it.
        """
        try:
            place = Place.of(url)
            if place.scheme not in WEB_PORTS:
                raise ValueError("it does not begin with http:// or https://")
        except ValueError as error:
            raise InvalidOptionError(
                f"The option '{key}' is '{shown(url)}', which is no address: {error}.", key=key
            ) from None
        if not any(place.is_below(Place.of(root)) for root in self.urls):
            raise NotAllowedError(
                f"The option '{key}' of a table leads to {shown(url)}, which the catalog does not allow.",
                remedy=f"Add the address to the catalog's option '{HTTP_ALLOWED_URLS.key}'.",
            )

    def check_settings(self, settings: Mapping[str, str], prefix: str) -> None:
        """Refuse settings of a file system, given by a table, that lead requests where the catalog does not allow it.

        Args:
            settings: the settings.
            prefix: what stands before their keys in the table's options.
        """
        for key, value in settings.items():
            if value and any(word in key.lower() for word in _ENDPOINTS):
                self.check_url(value if "://" in value else f"https://{value}", f"{prefix}{key}")


NO_ACCESS = ExternalAccess()
"""Nothing outside of a table."""


def _listed(text: str | None, option: Option[str | None], *, web_only: bool) -> tuple[str, ...]:
    found = tuple(comma_separated(text))
    for place in found:
        try:
            Place.of(place)
            if web_only and scheme_of(place) not in WEB_PORTS:
                raise ValueError("it does not begin with http:// or https://")
        except ValueError as error:
            raise InvalidOptionError(
                f"The option '{option.key}' names '{shown(place)}', which is no place: {error}.", key=option.key
            ) from None
    return found
