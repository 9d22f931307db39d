"""Functions as a catalog stores them: parameters, result, and a definition per engine.

The JSON is that of a function in Paimon's REST catalogs (spec: Functions, REST API). A definition is SQL text
(``sql``), an expression of a programming language (``lambda``) or a class in files (``file``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from paimon_sql.errors import InvalidInputError, NotFoundError
from paimon_sql.format.catalog_objects.base import members_of, object_json, string_map
from paimon_sql.format.schema.types import DataField, parse_field

Definition = Mapping[str, Any]
"""A definition as in the JSON; ``type`` is ``sql``, ``lambda`` or ``file``."""

SQL = "sql"
_MEMBERS: dict[str, tuple[str, ...]] = {
    SQL: ("definition",),
    "lambda": ("definition", "language"),
    "file": ("fileResources", "language", "className", "functionName"),
}
"""The required members of a definition, by its type."""


@dataclass(frozen=True)
class FunctionSchema:
    """The definition of a function.

    Attributes:
        parameters: its parameters, in order.
        returns: its result: one field, or the columns of a table.
        definitions: its definition, by the engine's name.
        deterministic: whether equal arguments give equal results.
        comment: its comment.
        options: its properties.
    """

    parameters: tuple[DataField, ...]
    returns: tuple[DataField, ...]
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    deterministic: bool = True
    comment: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """The JSON of the function's file."""
        members = {
            "inputParams": [f.to_json() for f in self.parameters],
            "returnParams": [f.to_json() for f in self.returns],
            "deterministic": self.deterministic,
            "definitions": {k: dict(v) for k, v in self.definitions.items()},
        }
        return object_json(members, self.comment, self.options)


def parse_function(text: str | bytes, path: str) -> FunctionSchema:
    """Parse a function's file; unknown members are ignored.

    Args:
        text: the file's content.
        path: the file's path, for error messages.

    Raises:
        CorruptFileError: the text is not JSON or lacks a member.
    """
    with members_of("function", text, path) as body:
        definitions = body.get("definitions") or {}
        return FunctionSchema(
            parameters=tuple(parse_field(f) for f in body["inputParams"]),
            returns=tuple(parse_field(f) for f in body["returnParams"]),
            definitions={str(k): validate_definition(v) for k, v in definitions.items()},
            deterministic=bool(body.get("deterministic", True)),
            comment=body.get("comment"),
            options=string_map(body, "options"),
        )


def validate_definition(body: Any) -> Definition:
    """Validate a definition and return a copy.

    Raises:
        InvalidInputError: its type is unknown, or a member is missing.
    """
    kind = body.get("type") if isinstance(body, dict) else None
    members = _MEMBERS.get(kind or "")
    if members is None:
        raise InvalidInputError(
            f"A function's definition has no type {json.dumps(kind)}.", remedy='Its "type" is sql, lambda or file.'
        )
    for member in members:
        if body.get(member) is None:
            raise InvalidInputError(f'A definition of type {kind} needs "{member}".')
    return dict(body)


def apply_change(function: FunctionSchema, change: Any) -> FunctionSchema:
    """Apply one change, in the JSON of Paimon's changes of functions, to a function.

    Args:
        function: the function.
        change: for example ``{"action": "addDefinition", "name": "spark", "definition": {..}}``.

    Raises:
        InvalidInputError: the change is unknown, lacks a member, or adds a definition that exists.
        NotFoundError: it changes or drops a definition or an option that does not exist.
    """
    action = change.get("action") if isinstance(change, dict) else None
    if action == "setOption":
        return replace(function, options={**function.options, _text(change, "key"): _text(change, "value")})
    if action == "removeOption":
        return replace(function, options=_without(function.options, _text(change, "key"), "option"))
    if action == "updateComment":
        comment = change.get("comment")
        return replace(function, comment=None if comment is None else str(comment))
    if action == "dropDefinition":
        return replace(function, definitions=_without(function.definitions, _text(change, "name"), "definition"))
    if action not in ("addDefinition", "updateDefinition"):
        raise InvalidInputError(
            f"A function has no change {json.dumps(action)}.",
            remedy='The "action" is addDefinition, updateDefinition, dropDefinition, setOption, removeOption or'
            " updateComment.",
        )
    name, definition = _text(change, "name"), validate_definition(change.get("definition"))
    if action == "addDefinition" and name in function.definitions:
        raise InvalidInputError(
            f"The function has a definition for {name} already.", remedy="Use the action updateDefinition."
        )
    if action == "updateDefinition":
        _without(function.definitions, name, "definition")
    return replace(function, definitions={**function.definitions, name: definition})


def _text(change: Mapping[str, Any], member: str) -> str:
    value = change.get(member)
    if value is None or not str(value).strip():
        raise InvalidInputError(f'The change {change.get("action")} needs "{member}".')
    return str(value)


def _without(entries: Mapping[str, Any], name: str, what: str) -> dict[str, Any]:
    if name not in entries:
        raise NotFoundError(f"The function has no {what} {name}.", name=name)
    return {k: v for k, v in entries.items() if k != name}
