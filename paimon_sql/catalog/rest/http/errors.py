"""What a server refuses, said as our errors (spec: REST API, ``ErrorResponse``)."""

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

_LONGEST = 500


class NotFoundAnswerError(NotFoundError):
    """Something that the server does not have; ``resource`` says what kind, such as ``TABLE``, empty if it does not."""

    def __init__(self, message: str, *, resource: str, name: str) -> None:
        super().__init__(message, name=name)
        self.resource = resource


class ConflictAnswerError(AlreadyExistsError):
    """Something that the server has already; ``resource`` says what kind, such as ``TABLE``."""

    def __init__(self, message: str, *, resource: str, name: str) -> None:
        super().__init__(message, name=name)
        self.resource = resource


def refusal(server: str, request: str, status: int, body: bytes, request_id: str | None) -> PaimonError:
    """The error that an answer other than success stands for.

    Args:
        server: the server's address.
        request: the request's method and path, for messages.
        status: the answer's status.
        body: what stands in it; one that is no ``ErrorResponse`` is not repeated, as it could hold anything.
        request_id: the server's name for the request.
    """
    said = _members(body)
    text = " ".join(str(said.get("message") or f"{request} was answered with {status}").split())[:_LONGEST].rstrip(".")
    message = f"The catalog's server {server} refused: {text}" + (f" (request {request_id})." if request_id else ".")
    resource, name = str(said.get("resourceType") or "").upper(), str(said.get("resourceName") or "")
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
        said = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
