"""How requests are signed: one class for each word of ``dlf.signing-algorithm``.

A way is a small class; a new one is added to `SIGNATURES`. Source: Paimon's REST specification, DLF tokens.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import format_datetime
from urllib.parse import quote_plus, unquote_plus

from paimon_sql.catalog.rest.http.credentials import Credentials
from paimon_sql.catalog.rest.http.request import JSON, Request
from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import DLF_REGION, DLF_SIGNING_ALGORITHM, URI

_REGION = re.compile(r"(?<![a-z])(?:pre-)?([a-z]+-[a-z]+(?:-\d+)?)")


class Signature(ABC):
    """Signs requests; an instance can be pickled."""

    @classmethod
    @abstractmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> Signature:
        """That of a catalog with these options; InvalidOptionError if one is missing."""

    @abstractmethod
    def headers(self, request: Request, credentials: Credentials) -> dict[str, str]:
        """The headers that a request is sent with, its signature among them."""


@dataclass(frozen=True)
class DlfSignature(Signature):
    """Version 4 of the signatures of Data Lake Formation, by HMAC-SHA256 and a key for each day and region.

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
                f"Catalog {catalog}: its address names no region.",
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
        said = f"DLF4-HMAC-SHA256 Credential={credentials.key_id}/{scope},Signature={signature}"
        return {**signed, "Authorization": said}


@dataclass(frozen=True)
class OpenApiSignature(Signature):
    """Signatures of Alibaba Cloud's open interface (DlfNext), by HMAC-SHA1."""

    @classmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> OpenApiSignature:
        return cls()

    def headers(self, request: Request, credentials: Credentials) -> dict[str, str]:
        own = {
            "x-acs-signature-method": "HMAC-SHA1",
            "x-acs-signature-nonce": str(uuid.uuid4()),
            "x-acs-signature-version": "1.0",
            "x-acs-version": "2026-01-18",
        }
        if credentials.security_token is not None:
            own["x-acs-security-token"] = credentials.security_token
        headers = {"Accept": JSON, "Date": format_datetime(datetime.now(timezone.utc), usegmt=True)}
        if request.body:
            headers |= {"Content-MD5": _md5(request.body), "Content-Type": JSON}
        first = (request.method, *(headers.get(h, "") for h in ("Accept", "Content-MD5", "Content-Type", "Date")))
        query = "&".join(f"{k}={v}" if v else k for k, v in sorted(request.query.items()))
        resource = unquote_plus(request.path) + (f"?{query}" if query else "")
        text = "\n".join((*first, *(f"{k}:{v.strip()}" for k, v in sorted(own.items())), resource))
        digest = hmac.new(credentials.secret.encode(), text.encode(), hashlib.sha1).digest()
        said = f"acs {credentials.key_id}:{base64.b64encode(digest).decode()}"
        return {**headers, **own, "Host": request.host, "Authorization": said}


SIGNATURES: dict[str, type[Signature]] = {"default": DlfSignature, "openapi": OpenApiSignature}
"""The ways by the words of ``dlf.signing-algorithm``."""


def signature_of(catalog: str, options: Mapping[str, str]) -> Signature:
    """How a catalog with these options signs; where nothing is said its address decides.

    Raises:
        InvalidOptionError: the options name no way, or lack what it needs.
    """
    by_address = "openapi" if "dlfnext" in options.get(URI.key, "").lower() else "default"
    return SIGNATURES[TableOptions(options).get(DLF_SIGNING_ALGORITHM) or by_address].of(catalog, options)


def _canonical(request: Request, signed: Mapping[str, str]) -> str:
    """A request as it is signed: method, path, query, headers by name, and how the content is signed."""
    query = "&".join(f"{k.strip()}={_encoded(v)}" if v else k.strip() for k, v in sorted(request.query.items()))
    named = sorted((k.lower(), v.strip()) for k, v in signed.items())
    headers = (f"{k}:{v}" for k, v in named)
    return "\n".join((request.method, request.path, query, *headers, signed["x-dlf-content-sha256"]))


def _encoded(value: str) -> str:
    """A value as Java encodes it in forms."""
    return quote_plus(value, safe="*").replace("~", "%7E").strip()


def _md5(body: bytes) -> str:
    return base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()


def _sha256(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()
