"""Views as a catalog stores them: columns, and the query in the dialects of engines.

The JSON is the ``schema`` of a view in Paimon's REST catalogs (spec: Views, REST API).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from paimon_sql.errors import InvalidInputError, NotFoundError
from paimon_sql.format.catalog_objects.base import members_of, object_json, string_map
from paimon_sql.format.schema.types import DataField, parse_field


@dataclass(frozen=True)
class ViewSchema:
    """The definition of a view.

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
        members = {
            "fields": [f.to_json() for f in self.fields],
            "query": self.query,
            "dialects": dict(self.dialects),
        }
        return object_json(members, self.comment, self.options)


def parse_view(text: str | bytes, path: str) -> ViewSchema:
    """Parse a view's file; unknown members are ignored.

    Args:
        text: the file's content.
        path: the file's path, for error messages.

    Raises:
        CorruptFileError: the text is not JSON or lacks a member.
    """
    with members_of("view", text, path) as body:
        return ViewSchema(
            fields=tuple(parse_field(f) for f in body["fields"]),
            query=str(body["query"]),
            dialects=string_map(body, "dialects"),
            comment=body.get("comment"),
            options=string_map(body, "options"),
        )
