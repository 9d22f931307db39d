"""What the files of views and of functions have in common (spec: Views and Functions, REST API)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from paimon_sql.format.bytes.bounded import decoding, load_json


def object_text(members: Mapping[str, Any], comment: str | None, options: Mapping[str, str]) -> str:
    """The text of an object's file: its own members, what is said about it, and its options."""
    said = {} if comment is None else {"comment": comment}
    return json.dumps({**members, **said, "options": dict(options)}, indent=2, ensure_ascii=False)


def texts(body: Mapping[str, Any], member: str) -> dict[str, str]:
    """A member that maps texts to texts, which may be missing."""
    return {str(k): str(v) for k, v in (body.get(member) or {}).items()}


@contextmanager
def members_of(kind: str, text: str | bytes, path: str) -> Iterator[dict[str, Any]]:
    """The members of an object's file, for whoever reads them inside.

    Args:
        kind: what the file describes, named in errors.
        text: the file's content.
        path: the file's path, named in errors.

    Raises:
        CorruptFileError: the text is no JSON, or lacks a member that is asked for, or has another type there.
    """
    with decoding(f"a {kind}", path):
        yield load_json(text)
