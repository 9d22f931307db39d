"""Tokens that a server lends for the files of one table, and the files as they are reached with them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_sql.catalog.rest.client import RestClient
from paimon_sql.catalog.rest.http.vended import Expiring
from paimon_sql.errors import CatalogUnavailableError
from paimon_sql.format.options.engines.catalog import DLF_OSS_ENDPOINT
from paimon_sql.storage.file_io import FileIO, ResolvingFileIO

_EARLY_SECONDS = 3600.0


@dataclass(frozen=True)
class Token:
    """What a server lent.

    Attributes:
        options: options of the file system.
        renewed: when a new one is asked for, in seconds since the epoch: an hour before it ends, but not before half
            of its life is over.
    """

    options: Mapping[str, str] = field(repr=False)
    renewed: float

    def holds(self) -> bool:
        """Whether no new one is asked for yet."""
        return time.time() < self.renewed


@dataclass(frozen=True)
class TokenProvider:
    """The server as it lends tokens for one table; it can be pickled and be a key.

    Attributes:
        client: the server.
        table: the table's path there.
    """

    client: RestClient
    table: tuple[str, ...]

    def token(self) -> Token:
        """The token that holds now, which all of this process share.

        Raises:
            CatalogUnavailableError: the server lends none.
            PaimonError: it refuses.
        """
        return _held.get(self, self._vended)

    def _vended(self) -> Token:
        now = time.time()
        said = self.client.get(*self.table, "token")
        try:
            options = {str(k): str(v) for k, v in said["token"].items()}
            ends = float(said["expiresAtMillis"]) / 1000
        except (KeyError, TypeError, ValueError, AttributeError):
            raise CatalogUnavailableError(
                f"The catalog's server {self.client.server.address} lends no token for the files of"
                f" {'.'.join(self.table[1::2])}."
            ) from None
        return Token(options, max(ends - _EARLY_SECONDS, (now + ends) / 2))


class TokenFileIO(ResolvingFileIO):
    """Reads and writes a table's files with what its server lends, which changes from time to time.

    Args:
        lender: who lends it.
        options: the catalog's options.
    """

    credentials_change = True

    def __init__(self, lender: TokenProvider, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._lender = lender
        self._token: Token | None = None
        self._files = ResolvingFileIO(options)

    def __reduce__(self) -> tuple[type[TokenFileIO], tuple[TokenProvider, dict[str, str]]]:  # type: ignore[override]
        return type(self), (self._lender, self.options)

    def of(self, path: str) -> FileIO:
        token = self._lender.token()
        if token is not self._token:
            endpoint = self.options.get(DLF_OSS_ENDPOINT.key)
            named = {"fs.oss.endpoint": endpoint} if endpoint else {}
            self._files, self._token = ResolvingFileIO({**self.options, **token.options, **named}), token
        return self._files.of(path)


_held: Expiring[TokenProvider, Token] = Expiring()
