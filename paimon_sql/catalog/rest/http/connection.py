"""Requests to a server over connections that all who use it in this process share."""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from urllib3 import BaseHTTPResponse
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError
from urllib3.exceptions import ProxyError as UnreachableProxyError

from paimon_sql.catalog.rest.http import transport
from paimon_sql.catalog.rest.http.authentication import Authentication, authentication_of
from paimon_sql.catalog.rest.http.errors import refusal
from paimon_sql.catalog.rest.http.request import JSON, Request, check_header
from paimon_sql.errors import AnswerLostError, CatalogUnavailableError, InvalidOptionError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import CLIENT_POOL_SIZE, HEADER, URI

_LOG = logging.getLogger(__name__)
_HEADER = HEADER.for_name("")
_VERSION = "v1"
_RETRIES = 5
_LONGEST_WAIT = 64.0
_BUSY = (429, 503)
_SUCCESS = (200, 201, 202, 204)
_NEVER_SENT = (NewConnectionError, ConnectTimeoutError, UnreachableProxyError)


@dataclass(frozen=True)
class Server:
    """A server, as the options of a catalog name it; it can be pickled, and nothing is opened before it is used.

    Attributes:
        address: where it is, without a slash behind it.
        headers: what every request says beside.
        authentication: what every request says about who sends it.
        pool_size: how many connections are kept.
    """

    address: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    authentication: Authentication = field(repr=False)
    pool_size: int

    @classmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> Server:
        """The server of a catalog with these options.

        Raises:
            InvalidOptionError: there is no address, or nothing that says who asks.
        """
        address = options.get(URI.key, "").strip().rstrip("/")
        if address and "://" not in address:
            address = f"http://{address}"
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or "@" in parts.netloc:
            raise InvalidOptionError(
                f"Catalog {catalog}: '{parts.scheme}://{parts.hostname or ''}' is no address of a REST server."
                if address
                else f"Catalog {catalog} has no '{URI.key}'.",
                key=URI.key,
                remedy="Set it to http://host:port or https://host/path, without a password.",
            )
        headers = {k.removeprefix(_HEADER): v for k, v in options.items() if k.startswith(_HEADER)}
        authentication = authentication_of(catalog, options)
        for name, value in headers.items():
            check_header(catalog, _HEADER + name, value, name)
        size = TableOptions(options).get(CLIENT_POOL_SIZE)
        return cls(address, tuple(sorted(headers.items())), authentication, size)

    def ask(
        self, method: str, path: Sequence[str], query: Mapping[str, str] | None = None, body: Any = None
    ) -> dict[str, Any]:
        """What the server answers, empty if it only says that it was done.

        A server that is busy is asked again after a while, and so is one that fell silent if asking changes nothing.

        Args:
            method: ``GET``, ``POST`` or ``DELETE``.
            path: the parts of the path behind ``/v1``.
            query: what stands behind its ``?``.
            body: what is sent as JSON.

        Raises:
            CatalogUnavailableError: it cannot be reached, so nothing happened.
            AnswerLostError: it failed or fell silent, so that it may have happened.
            PaimonError: it refused, so nothing happened.
        """
        target = "/".join(["", _VERSION, *(quote(part, safe="") for part in path)])
        url = self.address + target + (f"?{urlencode(query, quote_via=quote)}" if query else "")
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        request, host = f"{method} {target}", urlsplit(self.address).netloc
        sent = False
        for retry in range(_RETRIES + 1):
            try:
                answer, data = self._sent(Request(method, host, target, query or {}, content), url)
            except _NEVER_SENT as error:
                raise (self._lost(request, error) if sent else self._unreachable(error)) from error
            except HTTPError as error:
                if method != "GET" or retry == _RETRIES:
                    raise self._lost(request, error) from error
                _wait(retry, None)
                continue
            sent = True
            if answer.status in _SUCCESS:
                return self._members(request, data)
            if answer.status not in _BUSY or retry == _RETRIES:
                break
            _LOG.info("%s is busy: %s is sent again", self.address, request)
            _wait(retry, answer.headers.get("Retry-After"))
        raise refusal(self.address, request, answer.status, data, _request_id(answer))

    def _sent(self, request: Request, url: str) -> tuple[BaseHTTPResponse, bytes]:
        headers = {"Accept": JSON, **dict(self.headers)}
        if request.body is not None:
            headers["Content-Type"] = JSON
        # What is signed is sent as it was signed, each time anew.
        headers |= self.authentication.headers(request)
        return transport.request(self.address, self.pool_size, request.method, url, request.body, headers)

    def _members(self, request: str, data: bytes) -> dict[str, Any]:
        if not data.strip():
            return {}
        try:
            found = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._lost(request, error) from error
        if not isinstance(found, dict):
            raise self._lost(request, TypeError("the answer is no JSON object"))
        return found

    def _unreachable(self, error: Exception) -> CatalogUnavailableError:
        return CatalogUnavailableError(
            f"The catalog's server {self.address} cannot be reached: {_reason(error)}.",
            remedy="Check that it runs, and the option 'uri'.",
        )

    def _lost(self, request: str, error: Exception) -> AnswerLostError:
        return AnswerLostError(
            f"The answer of the catalog's server {self.address} to {request} was lost: {_reason(error)}.",
            remedy="Look what came of it before you run the statement again.",
        )


def _wait(retry: int, said: str | None) -> None:
    """Wait before a request is sent again: as long as the server says, or for a time that doubles."""
    seconds = float(said) if said is not None and said.strip().isdecimal() else 2.0**retry
    time.sleep(min(seconds, _LONGEST_WAIT) * random.uniform(1, 1.1))


def _request_id(answer: BaseHTTPResponse) -> str | None:
    return next((v for k, v in answer.headers.items() if "request-id" in k.lower()), None)


def _reason(error: Exception) -> str:
    """Why, without the object that urllib3 puts in front."""
    return " ".join(str(error).rpartition(": ")[2].split()).rstrip(".") or type(error).__name__
