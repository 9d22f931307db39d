"""Carried statements: encoding as a CALL that passes Spark's parser, and decoding."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any
from urllib.parse import unquote

from paimon_sql.errors import InvalidInputError
from paimon_sql.sql.grammar.statement import Node, Statement
from paimon_sql.sql.text.names import name_sql, quote_name

INTERNAL_PROCEDURE = "__execute"
"""The procedure of database ``sys`` that executes a carried statement; no list shows it."""

_KIND, _MAPPING = "is", "map"
# Characters that some setting of Spark escapes in string literals, and the start of variable substitution.
_UNSAFE = re.compile(r"[%'\\$\x00-\x1f]")


def encode(statement: Statement) -> str:
    """Encode as JSON without single quotes, backslashes and dollars, so that any string literal can hold it."""
    text = json.dumps(_to_json(statement), ensure_ascii=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", text)


def decode(text: str) -> Statement:
    """Decode the text of `encode`.

    Raises:
        InvalidInputError: `encode` did not write the text.
    """
    try:
        statement = _from_json(json.loads(unquote(text)))
    except (ValueError, LookupError, TypeError, AttributeError):
        statement = None
    if not isinstance(statement, Statement):
        raise InvalidInputError(
            f"{INTERNAL_PROCEDURE} takes what the dialect makes of a statement, and not '{text[:40]}'.",
            remedy="Write the statement itself.",
        )
    return statement


def call_sql(catalog: str, statement: Statement) -> str:
    """The CALL that carries the statement to the catalog."""
    return f"CALL {name_sql(catalog)}.sys.{quote_name(INTERNAL_PROCEDURE)}(statement => '{encode(statement)}')"


def _to_json(value: Any) -> Any:
    if isinstance(value, Node):
        given = ((f, getattr(value, f.name)) for f in fields(value))  # type: ignore[arg-type]
        return {_KIND: type(value).__name__} | {f.name: _to_json(v) for f, v in given if v != _default(f)}
    if isinstance(value, Mapping):  # under a separate key: an option's name could equal `_KIND`
        return {_MAPPING: {k: _to_json(v) for k, v in value.items()}}
    return [_to_json(v) for v in value] if isinstance(value, tuple) else value


def _default(f: Field[Any]) -> Any:
    return f.default if f.default_factory is MISSING else f.default_factory()


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_from_json(v) for v in value)
    if not isinstance(value, dict):
        return value
    if _MAPPING in value:
        return {k: _from_json(v) for k, v in value[_MAPPING].items()}
    return classes()[value[_KIND]](**{k: _from_json(v) for k, v in value.items() if k != _KIND})


def classes() -> dict[str, type[Node]]:
    found, todo = {}, [Node]
    while todo:
        for each in todo.pop().__subclasses__():
            found[each.__name__] = each
            todo.append(each)
    return found
