"""Locations outside of a warehouse, normalized for containment checks, and a catalog's policy for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from paimon_sql.errors import InvalidInputError, InvalidOptionError, NotAllowedError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines import catalog
from paimon_sql.format.options.values import Option, comma_separated
from paimon_sql.storage.file_io.paths import S3_SCHEMES, scheme_of, without_scheme

WEB_PORTS = {"http": 80, "https": 443}
"""The schemes of the web, with their default ports."""

_DOT_PARTS = (".", "..")


@dataclass(frozen=True)
class Location:
    """A file, directory or URL.

    A URI with a part ``..``, plain or percent-encoded, is invalid: nothing may climb out of a location.

    Attributes:
        scheme: in lower case, the same for all schemes of one store.
        authority: host and port, or bucket, in lower case; empty for local files.
        parts: the path's parts; for local files with symbolic links resolved.
    """

    scheme: str
    authority: str
    parts: tuple[str, ...]

    @classmethod
    def of(cls, uri: str) -> Location:
        """Parse a URI; a path without a scheme is a local file.

        Raises:
            ValueError: it is not a location that can be compared.
        """
        if not uri or any(ord(c) < 0x20 or ord(c) == 0x7F for c in uri):
            raise ValueError("it is empty, or has control characters")
        scheme = scheme_of(uri)
        if scheme in WEB_PORTS:
            return _of_web(uri)
        authority, path = without_scheme(uri)
        if scheme == "file":
            if authority not in ("", "localhost"):
                raise ValueError(f"'{authority}' is another machine")
            try:
                return cls(scheme, "", Path(path or "/").resolve().parts[1:])
            except (OSError, RuntimeError) as error:
                raise ValueError(f"its links cannot be followed: {error}") from None
        parts = _parts(path)
        return cls(S3_SCHEMES[0] if scheme in S3_SCHEMES else scheme, authority.lower(), parts)

    @classmethod
    def of_web(cls, url: str) -> Location:
        """Parse an HTTP URL; ValueError if it is none."""
        place = cls.of(url)
        if place.scheme not in WEB_PORTS:
            raise ValueError("it does not begin with http:// or https://")
        return place

    @property
    def local_path(self) -> Path:
        """The path of a local file, without symbolic links."""
        return Path("/", *self.parts)

    def is_below(self, root: Location) -> bool:
        """Whether this location equals the other one, or is below it."""
        same_store = (self.scheme, self.authority) == (root.scheme, root.authority)
        return same_store and self.parts[: len(root.parts)] == root.parts


def redacted(uri: str) -> str:
    """Return a URI for messages, without possible secrets: user, password, query and fragment."""
    plain = uri.partition("?")[0].partition("#")[0]
    scheme, slashes, rest = plain.partition("://")
    if slashes:
        authority, slash, path = rest.partition("/")
        plain = f"{scheme}://{authority.rpartition('@')[2] if scheme.lower() in WEB_PORTS else authority}{slash}{path}"
    return "".join(c if c.isprintable() else "?" for c in plain[:500])


def _of_web(uri: str) -> Location:
    if any(ord(c) <= 0x20 or ord(c) > 0x7E or c == "\\" for c in uri):
        raise ValueError("it has characters that a URL cannot have")
    parts = urlsplit(uri)
    if not uri[len(parts.scheme) :].startswith("://") or not parts.hostname:
        raise ValueError("it names no host")
    if parts.username is not None or parts.password is not None:
        raise ValueError("it holds a user or password")
    scheme = parts.scheme.lower()
    port = parts.port or WEB_PORTS[scheme]
    return Location(scheme, f"{parts.hostname.lower().rstrip('.')}:{port}", _parts(parts.path))


def _parts(path: str) -> tuple[str, ...]:
    parts = tuple(path.strip("/").split("/")) if path.strip("/") else ()
    for part in parts:
        plain = unquote(part)
        if plain in _DOT_PARTS or "/" in plain or "\\" in plain or unquote(plain) in _DOT_PARTS:
            raise ValueError("its path has '.' or '..' parts")
    return tuple(map(unquote, parts))


_ENDPOINTS = ("endpoint", "url", "uri", "host", "address", "proxy")
"""Words in the keys of settings whose values determine where requests are sent."""


@dataclass(frozen=True)
class ExternalAccess:
    """The locations that one catalog allows.

    Data refers to locations by blob descriptors, options by the URL of ``partition.mark-done-action`` and the endpoints
    of ``blob-descriptor.<property>``. A table's options never widen the policy: table and catalog options are set by
    different people.

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
    blob_bytes: int = catalog.BLOB_FETCH_MAX_SIZE.default
    blob_seconds: float = catalog.BLOB_FETCH_TIMEOUT.default.total_seconds()
    table_roots: tuple[str, ...] | None = None

    @classmethod
    def of(cls, options: Mapping[str, str], warehouse: str | None = None) -> ExternalAccess:
        """Create the policy of a catalog from its options.

        Raises:
            InvalidOptionError: an option is not a list of locations.
        """
        read = TableOptions(options).get
        roots = _locations(read(catalog.BLOB_ALLOWED_ROOTS), catalog.BLOB_ALLOWED_ROOTS)
        urls = _locations(read(catalog.HTTP_ALLOWED_URLS), catalog.HTTP_ALLOWED_URLS, Location.of_web)
        seconds = read(catalog.BLOB_FETCH_TIMEOUT).total_seconds()
        given = read(catalog.EXTERNAL_ALLOWED_ROOTS)
        tables = None if given is None else _locations(given, catalog.EXTERNAL_ALLOWED_ROOTS)
        return cls(warehouse, roots, urls, read(catalog.BLOB_FETCH_MAX_SIZE), seconds, tables)

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
            raise InvalidInputError(f"A blob descriptor has the invalid URI '{redacted(uri)}': {error}.") from None
        if not any(place.is_below(Location.of(root)) for root in (*self.blob_roots, *own)):
            raise NotAllowedError(
                f"A blob descriptor names {redacted(uri)}, from which the catalog does not allow blobs.",
                remedy=f"Add its directory, bucket or URL to the catalog's option '{catalog.BLOB_ALLOWED_ROOTS.key}'.",
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
            place = Location.of_web(url)
        except ValueError as error:
            raise InvalidOptionError(f"Invalid value '{redacted(url)}' of option '{key}': {error}.", key=key) from None
        if not any(place.is_below(Location.of(root)) for root in self.urls):
            raise NotAllowedError(
                f"The option '{key}' of a table names {redacted(url)}, which the catalog does not allow.",
                remedy=f"Add the URL to the catalog's option '{catalog.HTTP_ALLOWED_URLS.key}'.",
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


def _locations(
    text: str | None, option: Option[str | None], parse: Callable[[str], Location] = Location.of
) -> tuple[str, ...]:
    locations = tuple(comma_separated(text))
    for location in locations:
        try:
            parse(location)
        except ValueError as error:
            raise InvalidOptionError(
                f"The option '{option.key}' has the invalid location '{redacted(location)}': {error}.", key=option.key
            ) from None
    return locations
