"""How a server is told who asks: one class for each word of ``token.provider``.

A way is a small class; a new one is added to `PROVIDERS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_sql.errors import InvalidOptionError, UnsupportedError
from paimon_sql.format.options.catalog import TOKEN, TOKEN_PROVIDER


class Authentication(ABC):
    """What a request says about who sends it; an instance can be pickled."""

    @classmethod
    @abstractmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> Authentication:
        """That of a catalog with these options.

        Raises:
            InvalidOptionError: an option is missing.
            UnsupportedError: it is not possible here.
        """

    @abstractmethod
    def headers(self) -> dict[str, str]:
        """The headers of a request."""


@dataclass(frozen=True)
class Bearer(Authentication):
    """A token that the server gave out."""

    token: str = field(repr=False)

    @classmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> Bearer:
        token = options.get(TOKEN.key, "").strip()
        if not token:
            raise InvalidOptionError(
                f"Catalog {catalog} has no token.", key=TOKEN.key, remedy="Set the option 'token' to the server's."
            )
        return cls(token)

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


class Dlf(Authentication):
    """Signatures of Alibaba Cloud's Data Lake Formation."""

    @classmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> Dlf:
        raise UnsupportedError(
            f"Catalog {catalog}: requests cannot be signed as '{TOKEN_PROVIDER.key}' = 'dlf' asks for.",
            remedy="Use a server that takes a bearer token, with 'bear'.",
        )

    def headers(self) -> dict[str, str]:
        return {}


PROVIDERS: dict[str, type[Authentication]] = {"bear": Bearer, "dlf": Dlf}
"""The ways by the words of ``token.provider``."""


def authentication_of(catalog: str, options: Mapping[str, str]) -> Authentication:
    """How a catalog with these options says who asks.

    Raises:
        InvalidOptionError: the options name no way, or lack what it needs.
        UnsupportedError: it is not possible here.
    """
    name = options.get(TOKEN_PROVIDER.key, "").strip().lower()
    if name not in PROVIDERS:
        said = f"'{name}' is no way to say who asks" if name else f"no '{TOKEN_PROVIDER.key}' is set"
        raise InvalidOptionError(
            f"Catalog {catalog}: {said}.",
            key=TOKEN_PROVIDER.key,
            remedy="Set it to 'bear', and 'token' to the token that the server gave out.",
        )
    return PROVIDERS[name].of(catalog, options)
