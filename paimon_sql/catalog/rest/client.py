"""Client of a REST catalog: requests with retries, errors by responses, and paged lists below the catalog's prefix."""

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

from paimon_sql import errors
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.rest.http import transport
from paimon_sql.catalog.rest.http.authentication import Authentication, authentication_of
from paimon_sql.catalog.rest.http.transport import JSON, Request, check_header
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import CLIENT_POOL_SIZE, HEADER, URI

_OWN, _SIGNING = ("uri", "token", "token.provider"), "dlf."
_WAREHOUSE = "warehouse"


@dataclass(frozen=True)
class RestClient:
    """A client of one catalog; it can be pickled (Paimon: `RESTApi`).

    Attributes:
        server: the server.
        prefix: the catalog's prefix of paths, assigned by the server; may be empty.
    """

    server: Server
    prefix: str

    def get(self, *path: str) -> Any:
        """GET a path."""
        return self.server.ask("GET", self._path(path))

    def find(self, *path: str) -> Any | None:
        """GET a path; None if there is nothing."""
        try:
            return self.get(*path)
        except NotFoundAnswerError:
            return None

    def post(self, *path: str, body: Mapping[str, object]) -> Any:
        """POST to a path, and return the response."""
        return self.server.ask("POST", self._path(path), body=body)

    def delete(self, *path: str) -> None:
        """DELETE a path."""
        self.server.ask("DELETE", self._path(path))

    def listed(self, *path: str, member: str) -> Any:
        """Get all pages of a list.

        Args:
            path: the path of the list.
            member: the name of the entries in each page.

        Raises:
            CatalogUnavailableError: a page token is repeated.
        """
        found: list[object] = []
        tokens: set[str] = set()
        query: dict[str, str] = {}
        while True:
            page = self.server.ask("GET", self._path(path), query)
            entries = page.get(member) or []
            found += entries
            token = page.get("nextPageToken")
            if not token or not entries:
                return found
            if token in tokens:
                raise errors.CatalogUnavailableError(
                    f"The catalog's server {self.server.address} returned the same page of {member} again."
                )
            tokens.add(token)
            query = {"pageToken": str(token)}

    def _path(self, path: tuple[str, ...]) -> list[str]:
        return [*([self.prefix] if self.prefix else []), *path]


def path_of(kind: str, identifier: Identifier) -> tuple[str, ...]:
    """The path of a table or branch (``tables``), of a view (``views``) or a function (``functions``)."""
    return "databases", identifier.database, kind, identifier.object_name


def configured(catalog: str, options: Mapping[str, str]) -> tuple[RestClient, dict[str, str]]:
    """Return the client of a catalog, and its options merged with the server's defaults and overrides.

    Args:
        catalog: the catalog's name.
        options: its given options.

    Raises:
        InvalidOptionError: an option is missing or invalid.
        CatalogUnavailableError: the server cannot be reached or refuses.
    """
    server = Server.of(catalog, options)
    warehouse = options.get(_WAREHOUSE)
    response = server.ask("GET", ["config"], {_WAREHOUSE: warehouse} if warehouse else None)
    defaults, overrides = (
        {str(k): str(v) for k, v in (response.get(m) or {}).items() if v is not None} for m in ("defaults", "overrides")
    )
    merged = {**defaults, **options, **overrides}
    # Address and credentials are always those given: the server may only add headers.
    own = {k: v for k, v in options.items() if k in _OWN or k.startswith(_SIGNING)}
    return RestClient(Server.of(catalog, {**merged, **own}), merged.get("prefix", "")), merged


_LIMIT = 500


class NotFoundAnswerError(errors.NotFoundError):
    """An object does not exist on the server; ``resource`` is its kind, such as ``TABLE``, or empty."""

    def __init__(self, message: str, *, resource: str, name: str) -> None:
        super().__init__(message, name=name)
        self.resource = resource


class ConflictAnswerError(errors.AlreadyExistsError):
    """An object exists on the server already."""


def refusal(server: str, request: str, status: int, body: bytes, request_id: str | None) -> errors.PaimonError:
    """The error for a response without success (Paimon: `DefaultErrorHandler`).

    Args:
        server: the server's address.
        request: the request's method and path, for messages.
        status: the status code.
        body: the body; the message does not repeat it unless it is an ``ErrorResponse``, for it could contain anything.
        request_id: the server's id of the request.
    """
    members = _members(body)
    text = " ".join(str(members.get("message") or f"{request} returned status {status}").split())[:_LIMIT].rstrip(".")
    message = f"The catalog's server {server} refused: {text}" + (f" (request {request_id})." if request_id else ".")
    resource, name = str(members.get("resourceType") or "").upper(), str(members.get("resourceName") or "")
    if status == 401:
        return errors.CatalogUnavailableError(message, remedy="Check the options 'token.provider' and 'token'.")
    if status == 403:
        return errors.NotAllowedError(message, remedy="Ask the server's administrator for the permission.")
    if status == 404:
        return NotFoundAnswerError(message, resource=resource, name=name)
    if status == 409:
        return ConflictAnswerError(message, name=name)
    if status == 501:
        return errors.UnsupportedError(message)
    if 400 <= status < 500 and status not in (408, 429):
        return errors.InvalidInputError(message)
    return errors.AnswerLostError(message, remedy="Check whether it took effect before running the statement again.")


def _members(body: bytes) -> dict[str, object]:
    try:
        members = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return members if isinstance(members, dict) else {}


_LOG = logging.getLogger(__name__)
_HEADER = HEADER.for_name("")
_VERSION = "v1"
_RETRIES = 5
_MAX_WAIT = 64.0
_BUSY = (429, 503)
_SUCCESS = (200, 201, 202, 204)
_NEVER_SENT = (NewConnectionError, ConnectTimeoutError, UnreachableProxyError)


@dataclass(frozen=True)
class Server:
    """The address of a server; it can be pickled, and connections are opened on use.

    Attributes:
        address: its URL, without a trailing slash.
        headers: additional headers of all requests.
        authentication: the authentication of all requests.
        pool_size: the max number of pooled connections.
    """

    address: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    authentication: Authentication = field(repr=False)
    pool_size: int

    @classmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> Server:
        """The server of a catalog with these options.

        Raises:
            InvalidOptionError: the address or the authentication is missing or invalid.
        """
        address = options.get(URI.key, "").strip().rstrip("/")
        if address and "://" not in address:
            address = f"http://{address}"
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or "@" in parts.netloc:
            raise errors.InvalidOptionError(
                f"Catalog {catalog}: '{parts.scheme}://{parts.hostname or ''}' is not an address of a REST server."
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

    def ask(self, method: str, path: Sequence[str], query: Mapping[str, str] | None = None, body: object = None) -> Any:
        """Send a request and return the response, which may be empty.

        The request is repeated after a wait if the server is busy, or if the connection failed and the method is GET
        (Paimon: `ExponentialHttpRequestRetryStrategy`).

        Args:
            method: ``GET``, ``POST`` or ``DELETE``.
            path: the parts of the path after ``/v1``.
            query: the query parameters.
            body: the body, sent as JSON.

        Raises:
            CatalogUnavailableError: the server is unreachable; nothing happened.
            AnswerLostError: the server or the connection failed; the request may have been executed.
            PaimonError: the server refused; nothing happened.
        """
        target = "/".join(["", _VERSION, *(quote(part, safe="") for part in path)])
        url = self.address + target + (f"?{urlencode(query, quote_via=quote)}" if query else "")
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        request, host = f"{method} {target}", urlsplit(self.address).netloc
        sent = False
        for retry in range(_RETRIES + 1):
            try:
                response, data = self._sent(Request(method, host, target, query or {}, content), url)
            except _NEVER_SENT as error:
                raise (self._lost(request, error) if sent else self._unreachable(error)) from error
            except HTTPError as error:
                if method != "GET" or retry == _RETRIES:
                    raise self._lost(request, error) from error
                _wait(retry, None)
                continue
            sent = True
            if response.status in _SUCCESS:
                return self._members(request, data)
            if response.status not in _BUSY or retry == _RETRIES:
                break
            _LOG.info("%s is busy, retrying %s", self.address, request)
            _wait(retry, response.headers.get("Retry-After"))
        request_id = next((v for k, v in response.headers.items() if "request-id" in k.lower()), None)
        raise refusal(self.address, request, response.status, data, request_id)

    def _sent(self, request: Request, url: str) -> tuple[BaseHTTPResponse, bytes]:
        headers = {"Accept": JSON, **dict(self.headers)}
        if request.body is not None:
            headers["Content-Type"] = JSON
        # Each attempt is signed anew, and the signed headers are sent unchanged.
        headers |= self.authentication.headers(request)
        return transport.request(self.address, self.pool_size, request.method, url, request.body, headers)

    def _members(self, request: str, data: bytes) -> dict[str, object]:
        if not data.strip():
            return {}
        try:
            found = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._lost(request, error) from error
        if not isinstance(found, dict):
            raise self._lost(request, TypeError("the response is not a JSON object"))
        return found

    def _unreachable(self, error: Exception) -> errors.CatalogUnavailableError:
        return errors.CatalogUnavailableError(
            f"The catalog's server {self.address} cannot be reached: {_reason(error)}.",
            remedy="Check that it runs, and the option 'uri'.",
        )

    def _lost(self, request: str, error: Exception) -> errors.AnswerLostError:
        return errors.AnswerLostError(
            f"The answer of the catalog's server {self.address} to {request} was lost: {_reason(error)}.",
            remedy="Check whether it took effect before running the statement again.",
        )


def _wait(retry: int, retry_after: str | None) -> None:
    """Wait before a retry: the server's ``Retry-After``, or exponential backoff."""
    seconds = float(retry_after) if retry_after is not None and retry_after.strip().isdecimal() else 2.0**retry
    time.sleep(min(seconds, _MAX_WAIT) * random.uniform(1, 1.1))


def _reason(error: Exception) -> str:
    """The reason of an error, without urllib3's prefix."""
    return " ".join(str(error).rpartition(": ")[2].split()).rstrip(".") or type(error).__name__
