"""What a server has, by JDBC's metadata calls: they are structured, and Spark's own server knows them, too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from paimon_sql.sqlalchemy.names import DatabaseName

if TYPE_CHECKING:
    from paimon_sql.sqlalchemy.driver import Connection

TABLE, VIEW, SYSTEM_TABLE = "TABLE", "VIEW", "SYSTEM TABLE"
_SPARKS = ("", "spark_catalog")
"""Spark's own catalog, whose names are in lower case."""


class Relation(NamedTuple):
    """A table, view or system table; a temporary view has neither catalog nor database."""

    catalog: str
    database: str
    name: str
    kind: str
    comment: str

    @property
    def is_temporary(self) -> bool:
        """Whether it is a view of the session."""
        return not self.database


class ColumnInfo(NamedTuple):
    """A column.

    Attributes:
        type: Spark's name of the type.
        default: the default value as SQL.
    """

    name: str
    type: str
    nullable: bool
    comment: str | None
    default: str | None


@dataclass(frozen=True)
class Metadata:
    """The metadata calls of a connection.

    Attributes:
        connection: the connection.
        current: the catalog and the database that are meant where none is named.
        has_keys: whether the server answers for primary keys.
    """

    connection: Connection
    current: DatabaseName
    has_keys: bool

    def databases(self, catalog: str | None = None) -> list[str]:
        """The names of a catalog's databases."""
        catalog = catalog or self.current.catalog
        rows = self.connection.call("GetSchemas", catalogName=catalog, schemaName="%")
        return [str(name) for name, of in rows if _is_of(catalog, of)]

    def relations(self, database: DatabaseName, kinds: Sequence[str], name: str | None = None) -> list[Relation]:
        """The tables and views of a database.

        Args:
            database: the database.
            kinds: TABLE, VIEW, SYSTEM TABLE; none for all, of which system tables only if ``name`` is that of one.
            name: the name of one; all by default.
        """
        catalog, of = self._complete(database)
        return [r for r in self._list(catalog, _pattern(of), kinds, name) if _is_same(r.catalog, r.database, of)]

    def temporary_views(self, name: str | None = None) -> list[Relation]:
        """The temporary views of the session."""
        return [r for r in self._list(None, "%", [VIEW], name) if r.is_temporary]

    def find(self, database: DatabaseName, name: str) -> Relation | None:
        """The table or view of a name.

        It is a temporary view if no database is named, and the connection's has neither table nor view of that name.
        """
        found = self.relations(database, (), name)
        if not found and database.database is None:
            found = self.temporary_views(name)
        return found[0] if found else None

    def columns(self, relation: Relation) -> list[ColumnInfo]:
        """The columns in their order."""
        rows = self.connection.call(
            "GetColumns",
            catalogName=relation.catalog or None,
            schemaName=_pattern(relation.database) if relation.database else "%",
            tableName=_pattern(relation.name),
            columnName="%",
        )
        wanted = (relation.catalog, relation.database, relation.name)
        return [
            ColumnInfo(str(row[3]), str(row[5]), row[10] != 0, _text(row[11]) or None, _text(row[12]) or None)
            for row in rows
            if tuple(map(_text, row[:3])) == wanted
        ]

    def primary_key(self, relation: Relation) -> list[str]:
        """The columns of the primary key in their order."""
        if not self.has_keys or relation.kind != TABLE:
            return []
        catalog, database, name = relation[:3]
        rows = self.connection.call("GetPrimaryKeys", catalogName=catalog, schemaName=database, tableName=name)
        return [str(row[3]) for row in sorted(rows, key=lambda row: int(str(row[4])))]

    def _complete(self, given: DatabaseName) -> tuple[str | None, str]:
        return given.catalog or self.current.catalog, given.database or self.current.database or "default"

    def _list(self, catalog: str | None, database: str, kinds: Sequence[str], name: str | None) -> list[Relation]:
        pattern = "%" if name is None else _pattern(name)
        rows = self.connection.call(
            "GetTables", catalogName=catalog, schemaName=database, tableName=pattern, tableTypes=list(kinds) or None
        )
        found = [Relation(*map(_text, row[:5])) for row in rows]
        return [
            r
            for r in found
            if (catalog is None or r.is_temporary or _is_of(catalog, r.catalog))
            and (name is None or _is_same(r.catalog, r.name, name))
        ]


def _is_of(catalog: str | None, found: object) -> bool:
    """Whether something is in a catalog; Spark's server leaves its own out."""
    return catalog is None or catalog == found or (_text(found) in _SPARKS and catalog in _SPARKS)


def _is_same(catalog: str, found: str, name: str) -> bool:
    return found == name or (catalog in _SPARKS and found == name.lower())


def _pattern(name: str) -> str:
    """The pattern that only this name matches."""
    return re.sub(r"([\\%_])", r"\\\1", name)


def _text(value: object) -> str:
    return "" if value is None else str(value)
