"""JSON files of catalog objects: common code of views and functions (spec: Views and Functions, REST API)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from paimon_sql.format.bytes.bounded import decoding, load_json


def object_json(members: Mapping[str, Any], comment: str | None, options: Mapping[str, str]) -> str:
    """The JSON of an object's file: its members, then comment and options."""
    commented = {} if comment is None else {"comment": comment}
    return json.dumps({**members, **commented, "options": dict(options)}, indent=2, ensure_ascii=False)


def string_map(body: Mapping[str, Any], member: str) -> dict[str, str]:
    """A member that maps strings to strings; empty if it is missing."""
    return {str(k): str(v) for k, v in (body.get(member) or {}).items()}


@contextmanager
def members_of(kind: str, text: str | bytes, path: str) -> Iterator[dict[str, Any]]:
    """Provide the members of an object's file to the body of a ``with``, whose errors become CorruptFileErrors.

    Args:
        kind: the kind of object, for error messages.
        text: the file's content.
        path: the file's path, for error messages.

    Raises:
        CorruptFileError: the text is not JSON, or a member that the body reads is missing or has a wrong type.
    """
    with decoding(f"a {kind}", path):
        yield load_json(text)
