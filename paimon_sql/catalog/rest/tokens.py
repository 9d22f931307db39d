"""Data tokens: vended credentials for the files of a table (Paimon: `RESTTokenFileIO`)."""

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
    """A vended token.

    Attributes:
        options: options of the file system.
        renewed: the time of renewal, in seconds since the epoch: an hour before it expires, but not before half of its
            lifetime.
    """

    options: Mapping[str, str] = field(repr=False)
    renewed: float

    def holds(self) -> bool:
        """Whether the token need not be renewed yet."""
        return time.time() < self.renewed


@dataclass(frozen=True)
class TokenProvider:
    """The tokens of a table; it can be pickled and be a key.

    Attributes:
        client: the server.
        table: the path of the table.
    """

    client: RestClient
    table: tuple[str, ...]

    def token(self) -> Token:
        """The current token, shared in this process.

        Raises:
            CatalogUnavailableError: the server has none.
            PaimonError: the server refuses.
        """
        return _tokens.get(self, self._vended)

    def _vended(self) -> Token:
        now = time.time()
        response = self.client.get(*self.table, "token")
        try:
            options = {str(k): str(v) for k, v in response["token"].items()}
            expires = float(response["expiresAtMillis"]) / 1000
        except (KeyError, TypeError, ValueError, AttributeError):
            raise CatalogUnavailableError(
                f"The catalog's server {self.client.server.address} lends no token for the files of"
                f" {'.'.join(self.table[1::2])}."
            ) from None
        return Token(options, max(expires - _EARLY_SECONDS, (now + expires) / 2))


class TokenFileIO(ResolvingFileIO):
    """Reads and writes a table's files with the current token.

    Args:
        lender: the provider of tokens.
        options: the catalog's options.
    """

    credentials_change = True

    def __init__(self, lender: TokenProvider, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._provider = lender
        self._token: Token | None = None
        self._files = ResolvingFileIO(options)

    def __reduce__(self) -> tuple[type[TokenFileIO], tuple[TokenProvider, dict[str, str]]]:  # type: ignore[override]
        return type(self), (self._provider, self.options)

    def of(self, path: str) -> FileIO:
        token = self._provider.token()
        if token is not self._token:
            endpoint = self.options.get(DLF_OSS_ENDPOINT.key)
            named = {"fs.oss.endpoint": endpoint} if endpoint else {}
            self._files, self._token = ResolvingFileIO({**self.options, **token.options, **named}), token
        return self._files.of(path)


_tokens: Expiring[TokenProvider, Token] = Expiring()
