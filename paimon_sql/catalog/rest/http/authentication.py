"""Authentication of requests: one class per value of ``token.provider``.

A provider is a small class; new ones are added to `PROVIDERS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_sql.catalog.required_options import required
from paimon_sql.catalog.rest.http.credentials import CredentialSource, source_of
from paimon_sql.catalog.rest.http.request import Request, check_header
from paimon_sql.catalog.rest.http.signatures import Signature, signature_of
from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.options.engines.catalog import TOKEN, TOKEN_PROVIDER


class Authentication(ABC):
    """Authenticates requests; an instance can be pickled."""

    @classmethod
    @abstractmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> Authentication:
        """The authentication of a catalog with these options; InvalidOptionError if one is missing or invalid."""

    @abstractmethod
    def headers(self, request: Request) -> dict[str, str]:
        """The headers of a request.

        Raises:
            CatalogUnavailableError: there are no credentials.
        """


@dataclass(frozen=True)
class Bearer(Authentication):
    """A bearer token."""

    token: str = field(repr=False)

    @classmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> Bearer:
        token = required(catalog, options, TOKEN, "Set it to the token that the server gave out.")
        check_header(catalog, TOKEN.key, token)
        return cls(token)

    def headers(self, request: Request) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@dataclass(frozen=True)
class Dlf(Authentication):
    """Signatures of Alibaba Cloud's Data Lake Formation: the secret is never sent.

    Source: Paimon's REST specification, authentication by DLF tokens.
    """

    source: CredentialSource = field(repr=False)
    signature: Signature

    @classmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> Dlf:
        return cls(source_of(catalog, options), signature_of(catalog, options))

    def headers(self, request: Request) -> dict[str, str]:
        return self.signature.headers(request, self.source.current())


PROVIDERS: dict[str, type[Authentication]] = {"bear": Bearer, "dlf": Dlf}
"""The classes by values of ``token.provider``."""


def authentication_of(catalog: str, options: Mapping[str, str]) -> Authentication:
    """The authentication of a catalog with these options.

    Raises:
        InvalidOptionError: the provider is unknown, or an option is missing.
    """
    name = options.get(TOKEN_PROVIDER.key, "").strip().lower()
    if name not in PROVIDERS:
        problem = f"'{name}' is no way to say who asks" if name else f"no '{TOKEN_PROVIDER.key}' is set"
        raise InvalidOptionError(
            f"Catalog {catalog}: {problem}.",
            key=TOKEN_PROVIDER.key,
            remedy="Set it to 'bear', and 'token' to the token that the server gave out; or to 'dlf'.",
        )
    return PROVIDERS[name].of(catalog, options)
