"""Views and functions of a REST catalog (spec: REST API, ``views`` and ``functions``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier, check_name
from paimon_sql.catalog.rest.changes import Change, function_changes, view_changes
from paimon_sql.catalog.rest.client import ConflictAnswerError, NotFoundAnswerError, RestClient, path_of
from paimon_sql.errors import AlreadyExistsError, NotFoundError, PaimonError
from paimon_sql.format.schema.catalog_objects import FunctionSchema, ViewSchema, parse_function, parse_view

_DATABASE = "DATABASE"

T = TypeVar("T")


class DefinitionsOnServer(Catalog):
    """Views and functions on a server; differences without a change are made by drop and create."""

    client: RestClient

    def list_views(self, database: str) -> list[str]:
        with self._within(database):
            return sorted(self.client.listed("databases", database, "views", member="views"))

    def create_view(self, identifier: Identifier, view: ViewSchema, *, replace: bool = False) -> None:
        self._check_view_name(identifier)
        if self.table_exists(identifier):
            raise self._taken_table(identifier)
        found = self._find_view(identifier)
        if found is not None and not replace:
            raise self._taken_view(identifier)
        if found is None:
            self._make_view(identifier, view)
        else:
            self._change_view(identifier, found, view)

    def drop_view(self, identifier: Identifier) -> None:
        with self._missing(self._no_view(identifier), identifier.database):
            self.client.delete(*path_of("views", identifier))

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        self._check_view_name(target)
        if self.table_exists(target):
            raise self._taken_table(target)
        self._require(target.database)
        body = {"source": named(source), "destination": named(target)}
        try:
            with self._missing(self._no_view(source), source.database):
                self.client.post("views", "rename", body=body)
        except ConflictAnswerError:
            raise self._taken_view(target) from None

    def list_functions(self, database: str) -> list[str]:
        with self._within(database):
            return sorted(self.client.listed("databases", database, "functions", member="functions"))

    def _find_function(self, identifier: Identifier, name: str) -> FunctionSchema:
        with self._missing(self._no_function(identifier), identifier.database):
            body = self.client.get(*_function_path(identifier, name))
        return parse_function(json.dumps(body), f"Function {self.name}.{identifier}")

    def create_function(self, identifier: Identifier, function: FunctionSchema, *, replace: bool = False) -> None:
        self._require(identifier.database)
        name = self.function_name(identifier)
        if name is not None and not replace:
            raise self._taken_function(identifier)
        if name is None:
            self._make_function(identifier, check_name(identifier.object_name, "function"), function)
        else:
            self._change_function(identifier, name, self.function(identifier), function)

    def drop_function(self, identifier: Identifier) -> None:
        name = self.function_name(identifier)
        if name is None:
            raise self._no_function(identifier)
        with self._missing(self._no_function(identifier), identifier.database):
            self.client.delete(*_function_path(identifier, name))

    def _find_view(self, identifier: Identifier) -> ViewSchema | None:
        if "$" in identifier.object_name:
            return None
        found = self.client.find(*path_of("views", identifier))
        if found is None:
            return None
        return parse_view(json.dumps(found.get("schema")), f"View {self.name}.{identifier}")

    def _make_view(self, identifier: Identifier, view: ViewSchema) -> None:
        body = {"identifier": named(identifier), "schema": json.loads(view.to_json())}
        self._create("views", identifier.database, body, self._taken_view(identifier))

    def _change_view(self, identifier: Identifier, before: ViewSchema, after: ViewSchema) -> None:
        with self._missing(self._no_view(identifier), identifier.database):
            make = partial(self._make_view, identifier)
            self._changed(path_of("views", identifier), view_changes(before, after), make, before, after)

    def _make_function(self, identifier: Identifier, name: str, function: FunctionSchema) -> None:
        body = {"name": name, **json.loads(function.to_json())}
        self._create("functions", identifier.database, body, self._taken_function(identifier))

    def _change_function(
        self, identifier: Identifier, name: str, before: FunctionSchema, after: FunctionSchema
    ) -> None:
        with self._missing(self._no_function(identifier), identifier.database):
            make = partial(self._make_function, identifier, name)
            self._changed(_function_path(identifier, name), function_changes(before, after), make, before, after)

    def _changed(
        self, path: tuple[str, ...], changes: list[Change] | None, make: Callable[[T], None], before: T, after: T
    ) -> None:
        """Change an object, or drop and create it; the old one is restored if the server refuses the new one."""
        if changes:
            self.client.post(*path, body={"changes": changes})
        elif changes is None:
            self.client.delete(*path)
            try:
                make(after)
            except PaimonError:
                make(before)
                raise

    def _create(self, kind: str, database: str, body: Mapping[str, object], taken: AlreadyExistsError) -> None:
        """Create an object of a database; raises ``taken`` if it exists."""
        try:
            with self._within(database):
                self.client.post("databases", database, kind, body=body)
        except ConflictAnswerError:
            raise taken from None

    @contextmanager
    def _within(self, database: str) -> Iterator[None]:
        """Raise NoSuchDatabaseError for not-found responses."""
        with self._missing(self._no_database(database), database):
            yield

    @contextmanager
    def _missing(self, error: NotFoundError, database: str) -> Iterator[None]:
        """Raise ``error`` for not-found responses, or NoSuchDatabaseError if they are about the database."""
        try:
            yield
        except NotFoundAnswerError as refused:
            raise (self._no_database(database) if refused.resource == _DATABASE else error) from None


def named(identifier: Identifier) -> dict[str, str]:
    """The JSON of an identifier in requests."""
    return {"database": identifier.database, "object": identifier.object_name}


def _function_path(identifier: Identifier, name: str) -> tuple[str, ...]:
    return path_of("functions", Identifier(identifier.database, name))
