"""Definitions of views and functions as catalogs store them (spec: Views and Functions, REST API)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, TypeVar, cast

from paimon_sql.errors import InvalidInputError, NotFoundError
from paimon_sql.format.bytes.bounded import decoding, load_json
from paimon_sql.format.schema.types import DataField, parse_field


def object_json(members: Mapping[str, object], comment: str | None, options: Mapping[str, str]) -> str:
    """The JSON of an object's file: its members, then comment and options."""
    commented = {} if comment is None else {"comment": comment}
    return json.dumps({**members, **commented, "options": dict(options)}, indent=2, ensure_ascii=False)


def string_map(body: Mapping[str, Any], member: str) -> dict[str, str]:
    """A member that maps strings to strings; empty if it is missing."""
    return {str(k): str(v) for k, v in (body.get(member) or {}).items()}


@dataclass(frozen=True)
class ViewSchema:
    """The definition of a view; its JSON is the ``schema`` of a view in Paimon's REST catalogs (spec: Views, REST API).

    Attributes:
        fields: its columns.
        query: the query for engines that ``dialects`` does not name.
        dialects: the query by engine, for example ``spark`` and ``flink``.
        comment: its comment.
        options: its properties.
    """

    fields: tuple[DataField, ...]
    query: str
    dialects: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def query_for(self, dialect: str) -> str:
        """The query in an engine's dialect."""
        return self.dialects.get(dialect, self.query)

    def with_dialect(self, dialect: str, query: str, *, is_new: bool) -> ViewSchema:
        """The view with the query of one engine's dialect added or replaced.

        Args:
            dialect: the engine.
            query: the query in its dialect.
            is_new: whether to add the query; otherwise it replaces one.

        Raises:
            InvalidInputError: the query to add exists.
            NotFoundError: the query to replace does not exist.
        """
        if is_new and dialect in self.dialects:
            raise InvalidInputError(
                f"The view has a query for {dialect} already.", remedy="Use the action 'update' to replace it."
            )
        if not is_new:
            self._require(dialect)
        return replace(self, dialects={**self.dialects, dialect: query})

    def without_dialect(self, dialect: str) -> ViewSchema:
        """The view without the query of one engine's dialect.

        Raises:
            NotFoundError: it has none.
        """
        self._require(dialect)
        return replace(self, dialects={k: v for k, v in self.dialects.items() if k != dialect})

    def _require(self, dialect: str) -> None:
        if dialect not in self.dialects:
            known = f"It has one for {', '.join(sorted(self.dialects))}." if self.dialects else "Add one first."
            raise NotFoundError(f"The view has no query for {dialect}.", name=dialect, remedy=known)

    def to_json(self) -> str:
        """The JSON of the view's file."""
        members = {"fields": [f.to_json() for f in self.fields], "query": self.query, "dialects": dict(self.dialects)}
        return object_json(members, self.comment, self.options)


def parse_view(text: str | bytes, path: str) -> ViewSchema:
    """Parse a view's file; unknown members are ignored.

    Args:
        text: the file's content.
        path: the file's path, for error messages.

    Raises:
        CorruptFileError: the text is not JSON or lacks a member.
    """
    with decoding("a view", path):
        body = load_json(text)
        return ViewSchema(
            fields=tuple(parse_field(f) for f in body["fields"]),
            query=str(body["query"]),
            dialects=string_map(body, "dialects"),
            comment=body.get("comment"),
            options=string_map(body, "options"),
        )


class FileResource(TypedDict):
    """A file of a definition."""

    resourceType: str
    uri: str


class Definition(TypedDict, total=False):
    """A definition as in the JSON.

    ``type`` is ``sql`` for SQL text, ``lambda`` for an expression of a programming language, ``file`` for a class in
    files.
    """

    type: str
    definition: str
    language: str
    fileResources: list[FileResource]
    className: str
    functionName: str


T = TypeVar("T")

SQL = "sql"
_MEMBERS: dict[str, tuple[str, ...]] = {
    SQL: ("definition",),
    "lambda": ("definition", "language"),
    "file": ("fileResources", "language", "className", "functionName"),
}
"""The required members of a definition, by its type."""


@dataclass(frozen=True)
class FunctionSchema:
    """The definition of a function; its JSON is that of Paimon's REST catalogs (spec: Functions, REST API).

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
    with decoding("a function", path):
        body = load_json(text)
        definitions = body.get("definitions") or {}
        return FunctionSchema(
            parameters=tuple(parse_field(f) for f in body["inputParams"]),
            returns=tuple(parse_field(f) for f in body["returnParams"]),
            definitions={str(k): validate_definition(v) for k, v in definitions.items()},
            deterministic=bool(body.get("deterministic", True)),
            comment=body.get("comment"),
            options=string_map(body, "options"),
        )


def validate_definition(body: object) -> Definition:
    """Validate a definition and return a copy.

    Raises:
        InvalidInputError: its type is unknown, or a member is missing.
    """
    kind = body.get("type") if isinstance(body, dict) else None
    members = _MEMBERS.get(kind or "")
    if members is None or not isinstance(body, dict):
        raise InvalidInputError(
            f"Unknown type {json.dumps(kind)} of a function definition.",
            remedy='The "type" must be sql, lambda or file.',
        )
    for member in members:
        if body.get(member) is None:
            raise InvalidInputError(f'A definition of type {kind} needs "{member}".')
    return cast("Definition", dict(body))


def apply_change(function: FunctionSchema, change: Mapping[str, object]) -> FunctionSchema:
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
            f"Unknown action {json.dumps(action)} of a function change.",
            remedy='The "action" must be addDefinition, updateDefinition, dropDefinition, setOption, removeOption'
            " or updateComment.",
        )
    name, definition = _text(change, "name"), validate_definition(change.get("definition"))
    if action == "addDefinition" and name in function.definitions:
        raise InvalidInputError(
            f"The function has a definition for {name} already.", remedy="Use the action updateDefinition."
        )
    if action == "updateDefinition":
        _without(function.definitions, name, "definition")
    return replace(function, definitions={**function.definitions, name: definition})


def _text(change: Mapping[str, object], member: str) -> str:
    value = change.get(member)
    if value is None or not str(value).strip():
        raise InvalidInputError(f'The change {change.get("action")} needs "{member}".')
    return str(value)


def _without(entries: Mapping[str, T], name: str, what: str) -> dict[str, T]:
    if name not in entries:
        raise NotFoundError(f"The function has no {what} {name}.", name=name)
    return {k: v for k, v in entries.items() if k != name}
