"""Authentication, credentials and signatures of requests (spec: REST API).

A small class per value of ``token.provider``, ``dlf.token-loader`` and ``dlf.signing-algorithm``; new ones are added to
`PROVIDERS`, `LOADERS` and `SIGNATURES`. Credentials are renewed an hour before they expire.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import quote_plus, unquote_plus

from paimon_sql.cache import Cache
from paimon_sql.catalog.required_options import required
from paimon_sql.catalog.rest.http.transport import JSON, Request, check_header, fits_header
from paimon_sql.errors import CatalogUnavailableError, InvalidOptionError, PaimonError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import (
    DLF_ACCESS_KEY_ID,
    DLF_ACCESS_KEY_SECRET,
    DLF_REGION,
    DLF_SECURITY_TOKEN,
    DLF_SIGNING_ALGORITHM,
    DLF_TOKEN_ECS_METADATA_URL,
    DLF_TOKEN_ECS_ROLE_NAME,
    DLF_TOKEN_LOADER,
    DLF_TOKEN_PATH,
    TOKEN,
    TOKEN_PROVIDER,
    URI,
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
    """A bearer token (Paimon: `BearTokenAuthProvider`)."""

    token: str = field(repr=False)

    @classmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> Bearer:
        token = required(catalog, options, TOKEN, "Set it to the token that the server issued.")
        check_header(catalog, TOKEN.key, token)
        return cls(token)

    def headers(self, request: Request) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@dataclass(frozen=True)
class Dlf(Authentication):
    """Signatures of Alibaba Cloud's Data Lake Formation: the secret is never sent (Paimon: `DLFAuthProvider`)."""

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
        problem = f"'{name}' is not a supported token provider" if name else f"no '{TOKEN_PROVIDER.key}' is set"
        raise InvalidOptionError(
            f"Catalog {catalog}: {problem}.",
            key=TOKEN_PROVIDER.key,
            remedy="Set it to 'bear', and 'token' to the token that the server issued; or to 'dlf'.",
        )
    return PROVIDERS[name].of(catalog, options)


_REGION = re.compile(r"(?<![a-z])(?:pre-)?([a-z]+-[a-z]+(?:-\d+)?)")


class Signature(ABC):
    """Signs requests; an instance can be pickled."""

    @classmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> Signature:
        """The signature of a catalog with these options; InvalidOptionError if one is missing."""
        return cls()

    @abstractmethod
    def headers(self, request: Request, credentials: Credentials) -> dict[str, str]:
        """The headers of a signed request, signature included."""


@dataclass(frozen=True)
class DlfSignature(Signature):
    """Signatures of Data Lake Formation, version 4: HMAC-SHA256 with a key per day and region.

    Paimon: `DLFDefaultSigner`.

    Attributes:
        region: the region of the server.
    """

    region: str

    @classmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> DlfSignature:
        region = options.get(DLF_REGION.key, "").strip()
        found = None if region else _REGION.search(options.get(URI.key, ""))
        if not region and found is None:
            raise InvalidOptionError(
                f"Catalog {catalog}: its address contains no region.",
                key=DLF_REGION.key,
                remedy=f"Set '{DLF_REGION.key}', such as cn-hangzhou.",
            )
        return cls(region or (found[1] if found else ""))

    def headers(self, request: Request, credentials: Credentials) -> dict[str, str]:
        moment = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        signed = {"x-dlf-date": moment, "x-dlf-content-sha256": "UNSIGNED-PAYLOAD", "x-dlf-version": "v1"}
        if request.body:
            signed |= {"Content-Type": JSON, "Content-MD5": _md5(request.body)}
        if credentials.security_token is not None:
            signed["x-dlf-security-token"] = credentials.security_token
        scope = f"{moment[:8]}/{self.region}/DlfNext/aliyun_v4_request"
        canonical = hashlib.sha256(_canonical(request, signed).encode()).hexdigest()
        key = f"aliyun_v4{credentials.secret}".encode()
        for part in scope.split("/"):
            key = _sha256(key, part)
        signature = _sha256(key, "\n".join(("DLF4-HMAC-SHA256", moment, scope, canonical))).hex()
        authorization = f"DLF4-HMAC-SHA256 Credential={credentials.key_id}/{scope},Signature={signature}"
        return {**signed, "Authorization": authorization}


@dataclass(frozen=True)
class OpenApiSignature(Signature):
    """Signatures of Alibaba Cloud's OpenAPI (DlfNext): HMAC-SHA1 (Paimon: `DLFOpenApiSigner`)."""

    def headers(self, request: Request, credentials: Credentials) -> dict[str, str]:
        acs_headers = {
            "x-acs-signature-method": "HMAC-SHA1",
            "x-acs-signature-nonce": str(uuid.uuid4()),
            "x-acs-signature-version": "1.0",
            "x-acs-version": "2026-01-18",
        }
        if credentials.security_token is not None:
            acs_headers["x-acs-security-token"] = credentials.security_token
        headers = {"Accept": JSON, "Date": format_datetime(datetime.now(timezone.utc), usegmt=True)}
        if request.body:
            headers |= {"Content-MD5": _md5(request.body), "Content-Type": JSON}
        first_lines = (request.method, *(headers.get(h, "") for h in ("Accept", "Content-MD5", "Content-Type", "Date")))
        query = "&".join(f"{k}={v}" if v else k for k, v in sorted(request.query.items()))
        resource = unquote_plus(request.path) + (f"?{query}" if query else "")
        text = "\n".join((*first_lines, *(f"{k}:{v.strip()}" for k, v in sorted(acs_headers.items())), resource))
        digest = hmac.new(credentials.secret.encode(), text.encode(), hashlib.sha1).digest()
        authorization = f"acs {credentials.key_id}:{base64.b64encode(digest).decode()}"
        return {**headers, **acs_headers, "Host": request.host, "Authorization": authorization}


SIGNATURES: dict[str, type[Signature]] = {"default": DlfSignature, "openapi": OpenApiSignature}
"""The classes by values of ``dlf.signing-algorithm``."""


def signature_of(catalog: str, options: Mapping[str, str]) -> Signature:
    """The signature of a catalog with these options; by default chosen by its address.

    Raises:
        InvalidOptionError: the algorithm is unknown, or an option is missing.
    """
    by_address = "openapi" if "dlfnext" in options.get(URI.key, "").lower() else "default"
    return SIGNATURES[TableOptions(options).get(DLF_SIGNING_ALGORITHM) or by_address].of(catalog, options)


def _canonical(request: Request, signed: Mapping[str, str]) -> str:
    """The canonical form that is signed: method, path, query, sorted headers, and the content hash of the headers."""
    query = "&".join(f"{k.strip()}={_encoded(v)}" if v else k.strip() for k, v in sorted(request.query.items()))
    named = sorted((k.lower(), v.strip()) for k, v in signed.items())
    headers = (f"{k}:{v}" for k, v in named)
    return "\n".join((request.method, request.path, query, *headers, signed["x-dlf-content-sha256"]))


def _encoded(value: str) -> str:
    """A value as encoded by Java's `URLEncoder`."""
    return quote_plus(value, safe="*").replace("~", "%7E").strip()


def _md5(body: bytes) -> str:
    return base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()


def _sha256(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()
