"""Locations named by URI, normalized for containment checks.

A URI with a part ``..``, plain or percent-encoded, is invalid: nothing may climb out of a location.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from paimon_sql.storage.file_io.paths import S3_SCHEMES, scheme_of, without_scheme

WEB_PORTS = {"http": 80, "https": 443}
"""The schemes of the web, with their default ports."""

_DOT_PARTS = (".", "..")


@dataclass(frozen=True)
class Location:
    """A file, directory or URL.

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
                raise ValueError(f"'{authority}' is another machine's")
            try:
                return cls(scheme, "", Path(path or "/").resolve().parts[1:])
            except (OSError, RuntimeError) as error:
                raise ValueError(f"its links cannot be followed: {error}") from None
        parts = _parts(path)
        return cls(S3_SCHEMES[0] if scheme in S3_SCHEMES else scheme, authority.lower(), parts)

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
        raise ValueError("it has characters that an address does not have")
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
            raise ValueError("a part of its path climbs")
    return tuple(map(unquote, parts))
