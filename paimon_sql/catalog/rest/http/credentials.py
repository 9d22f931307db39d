"""Credentials of signed requests: one class per source.

A source is a small class; new ones are added to `LOADERS`. Credentials are renewed an hour before they expire.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from paimon_sql.cache import Cache
from paimon_sql.catalog.required_options import required
from paimon_sql.catalog.rest.http.transport import check_header, fits_header
from paimon_sql.errors import CatalogUnavailableError, PaimonError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import (
    DLF_ACCESS_KEY_ID,
    DLF_ACCESS_KEY_SECRET,
    DLF_SECURITY_TOKEN,
    DLF_TOKEN_ECS_METADATA_URL,
    DLF_TOKEN_ECS_ROLE_NAME,
    DLF_TOKEN_LOADER,
    DLF_TOKEN_PATH,
)
from paimon_sql.process import share
from paimon_sql.storage.file_io.external.http import HttpResponse
from paimon_sql.storage.file_io.external.locations import redacted

LEAST_SECONDS = 3600.0
"""The min remaining lifetime of credentials in use."""

_TRIES = 4
_PAUSE = 0.5
_SECONDS = 10.0
_MOST_BYTES = 64 * 1024
_MAX_CACHED = 1000


@dataclass(frozen=True)
class Credentials:
    """An access key (Paimon: `DLFToken`).

    Attributes:
        key_id: the id of the key.
        secret: its secret.
        security_token: the token of temporary keys.
        expires: when it expires, in seconds since the epoch; None for never.
    """

    key_id: str
    secret: str = field(repr=False)
    security_token: str | None = field(default=None, repr=False)
    expires: float | None = None

    def holds(self) -> bool:
        """Whether it can still be used."""
        return self.expires is None or self.expires - time.time() >= LEAST_SECONDS


class CredentialSource(ABC):
    """A source of credentials; an instance can be pickled and be a key."""

    @classmethod
    @abstractmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> CredentialSource:
        """The source of a catalog with these options; InvalidOptionError if one is missing."""

    @abstractmethod
    def load(self) -> Credentials:
        """Load the current credentials; CatalogUnavailableError if there are none."""

    def current(self) -> Credentials:
        """The current credentials, cached in this process until renewal; errors as in `load`."""
        return _credentials().compute(self, self.load, once=False)


_credentials = share(lambda: Cache[CredentialSource, Credentials](_MAX_CACHED, holds=Credentials.holds))


@dataclass(frozen=True)
class GivenKeys(CredentialSource):
    """Credentials in the catalog's options."""

    credentials: Credentials

    @classmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> GivenKeys:
        remedy = f"Set it, or '{DLF_TOKEN_PATH.key}', or '{DLF_TOKEN_LOADER.key}'."
        key_id, secret = (required(catalog, options, o, remedy) for o in (DLF_ACCESS_KEY_ID, DLF_ACCESS_KEY_SECRET))
        token = options.get(DLF_SECURITY_TOKEN.key, "").strip()
        check_header(catalog, DLF_ACCESS_KEY_ID.key, key_id)
        check_header(catalog, DLF_SECURITY_TOKEN.key, token)
        return cls(Credentials(key_id, secret, token or None))

    def load(self) -> Credentials:
        return self.credentials


@dataclass(frozen=True)
class TokenFile(CredentialSource):
    """A file that another process keeps current (Paimon: `DLFLocalFileTokenLoader`)."""

    path: str

    @classmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> TokenFile:
        return cls(required(catalog, options, DLF_TOKEN_PATH, "Set it to the file that holds the credentials."))

    def load(self) -> Credentials:
        for _ in range(_TRIES - 1):
            with suppress(CatalogUnavailableError):
                return self._read()
            time.sleep(_PAUSE)  # the file may be about to be replaced
        return self._read()

    def _read(self) -> Credentials:
        try:
            text = Path(self.path).read_bytes()
        except OSError as error:
            raise _unreadable(self.path, error.strerror) from None
        return parse(text, self.path)


@dataclass(frozen=True)
class InstanceRole(CredentialSource):
    """The metadata service of a machine of Alibaba Cloud, with the credentials of its role.

    Paimon: `DLFECSTokenLoader`.

    Attributes:
        address: the URL of the service.
        role: the name of the role; None for that of the machine.
    """

    address: str
    role: str | None

    @classmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> InstanceRole:
        return cls(
            TableOptions(options).get(DLF_TOKEN_ECS_METADATA_URL), options.get(DLF_TOKEN_ECS_ROLE_NAME.key) or None
        )

    def load(self) -> Credentials:
        role = self.role or self._read_value("").decode("utf-8", "replace").strip()
        return parse(self._read_value(role), self.address)

    def _read_value(self, what: str) -> bytes:
        try:
            with HttpResponse("GET", self.address + what, seconds=_SECONDS, most_bytes=_MOST_BYTES) as answer:
                return answer.read()
        except (PaimonError, ValueError) as error:
            reason = str(error).replace(redacted(self.address + what), "it", 1).rstrip(".")
            raise _unreadable(self.address, reason) from None


LOADERS: dict[str, type[CredentialSource]] = {"local_file": TokenFile, "ecs": InstanceRole}
"""The sources by values of ``dlf.token-loader``."""


def source_of(catalog: str, options: Mapping[str, str]) -> CredentialSource:
    """The source of a catalog with these options.

    Raises:
        InvalidOptionError: the source is unknown, or an option is missing.
    """
    name = TableOptions(options).get(DLF_TOKEN_LOADER)
    kind = LOADERS[name] if name else TokenFile if options.get(DLF_TOKEN_PATH.key) else GivenKeys
    return kind.of(catalog, options)


def parse(text: bytes, place: str) -> Credentials:
    """Parse credentials, a JSON object.

    Raises:
        CatalogUnavailableError: the JSON is invalid; the message does not repeat it, for it may be secret.
    """
    try:
        members = json.loads(text)
        expiration = members.get("Expiration")
        end = expiration and datetime.strptime(expiration, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
        key_id, secret = str(members["AccessKeyId"]), str(members["AccessKeySecret"])
    except (ValueError, TypeError, KeyError, AttributeError):
        raise _unreadable(place, "it is not a JSON object with AccessKeyId and AccessKeySecret") from None
    token = str(members.get("SecurityToken") or "")
    if not fits_header(key_id + token):
        raise _unreadable(place, "its values are not valid in a header")
    return Credentials(key_id, secret, token or None, end.timestamp() if end else None)


def _unreadable(place: str, why: object) -> CatalogUnavailableError:
    return CatalogUnavailableError(
        f"The credentials of the catalog's server cannot be loaded from {place}: {why}.",
        remedy="Check the options that start with 'dlf.'.",
    )
