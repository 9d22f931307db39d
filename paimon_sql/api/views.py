"""Views of the Python API: definitions, which other libraries may run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.catalog_objects import ViewSchema


@dataclass(frozen=True)
class View:
    """The definition of a view, by `Catalog.view`: a query in the SQL of some engines, which this API does not run.

    Spark runs it as a part of its own queries; DuckDB may, with the tables of the query registered under their names.

    Attributes:
        name: database and view.
        schema: the columns in Arrow's types.
        query: the query for engines that `queries` does not name.
        queries: the query by engine, such as ``spark`` and ``flink``.
        comment: the view's comment.
        options: its properties.
    """

    name: str
    schema: pa.Schema
    query: str
    queries: Mapping[str, str]
    comment: str | None
    options: Mapping[str, str]

    @classmethod
    def of(cls, identifier: Identifier, view: ViewSchema) -> View:
        """Return the definition of a view that a catalog has."""
        return cls(
            str(identifier),
            arrow_schema(view.fields),
            view.query,
            dict(view.dialects),
            view.comment,
            dict(view.options),
        )

    def query_for(self, engine: str) -> str:
        """Return the query in an engine's dialect.

        >>> catalog.view("shop.large").query_for("spark")
        'SELECT id FROM shop.orders WHERE amount > 20'
        """
        return self.queries.get(engine, self.query)
