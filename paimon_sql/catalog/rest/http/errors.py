"""Errors by error responses of a server (spec: REST API, ``ErrorResponse``)."""

from __future__ import annotations

import json
from typing import Any

from paimon_sql.errors import (
    AlreadyExistsError,
    AnswerLostError,
    CatalogUnavailableError,
    InvalidInputError,
    NotAllowedError,
    NotFoundError,
    PaimonError,
    UnsupportedError,
)

_LIMIT = 500


class NotFoundAnswerError(NotFoundError):
    """An object does not exist on the server; ``resource`` is its kind, such as ``TABLE``, or empty."""

    def __init__(self, message: str, *, resource: str, name: str) -> None:
        super().__init__(message, name=name)
        self.resource = resource


class ConflictAnswerError(AlreadyExistsError):
    """An object exists on the server already; ``resource`` is its kind, such as ``TABLE``."""

    def __init__(self, message: str, *, resource: str, name: str) -> None:
        super().__init__(message, name=name)
        self.resource = resource


def refusal(server: str, request: str, status: int, body: bytes, request_id: str | None) -> PaimonError:
    """The error for a response without success.

    Args:
        server: the server's address.
        request: the request's method and path, for messages.
        status: the status code.
        body: the body; the message does not repeat it unless it is an ``ErrorResponse``, for it could contain anything.
        request_id: the server's id of the request.
    """
    members = _members(body)
    text = " ".join(str(members.get("message") or f"{request} was answered with {status}").split())[:_LIMIT].rstrip(".")
    message = f"The catalog's server {server} refused: {text}" + (f" (request {request_id})." if request_id else ".")
    resource, name = str(members.get("resourceType") or "").upper(), str(members.get("resourceName") or "")
    if status == 401:
        return CatalogUnavailableError(message, remedy="Check the options 'token.provider' and 'token'.")
    if status == 403:
        return NotAllowedError(message, remedy="Ask who keeps the server for the right to do that.")
    if status == 404:
        return NotFoundAnswerError(message, resource=resource, name=name)
    if status == 409:
        return ConflictAnswerError(message, resource=resource, name=name)
    if status == 501:
        return UnsupportedError(message)
    if 400 <= status < 500 and status not in (408, 429):
        return InvalidInputError(message)
    return AnswerLostError(message, remedy="Look what came of it before you run the statement again.")


def _members(body: bytes) -> dict[str, Any]:
    try:
        members = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return members if isinstance(members, dict) else {}
