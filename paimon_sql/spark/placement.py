"""Where a new table may stand: in its own folder of the warehouse, where it is found by its name."""

from __future__ import annotations

import posixpath
from dataclasses import replace

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import MAIN_BRANCH, Identifier
from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.table import PATH
from paimon_sql.format.schema import TableSchema


def placed(catalog: Catalog, identifier: Identifier, schema: TableSchema) -> TableSchema:
    """The schema of a new table, without the place that it says, which is the table's own anyway.

    Raises:
        InvalidInputError: the name is that of a branch or system table, or the place is another one.
        NoSuchDatabaseError: there is no such database.
    """
    refuse_parts(identifier, "created")
    said = schema.options.get(PATH.key)
    if said is None:
        return schema
    own = f"{catalog.database_properties(identifier.database)['location']}/{identifier.table}"
    if _plain(said) != _plain(own):
        raise InvalidInputError(
            f"Table {identifier} cannot stand in '{said}': catalog {catalog.name} finds tables by name, so its place is"
            f" '{own}'.",
            remedy="Leave LOCATION and 'path' out.",
        )
    return replace(schema, options={k: v for k, v in schema.options.items() if k != PATH.key})


def refuse_parts(identifier: Identifier, verb: str) -> None:
    """Refuse the name of a branch or of a system table, which are no tables of their own."""
    if identifier.system_table is not None or identifier.branch != MAIN_BRANCH:
        raise InvalidInputError(
            f"{identifier} cannot be {verb}: it is a part of table {identifier.database}.{identifier.table}.",
            remedy="A table's name holds no '$'." if verb == "created" else None,
        )


def _plain(path: str) -> str:
    """The path without the spellings that do not matter: ``file:`` before it, ``..`` in it, a slash behind it."""
    scheme, colon, rest = path.partition(":")
    if not colon or "/" in scheme:
        scheme, rest = "file", path
    return f"{scheme.lower()}:{posixpath.normpath('/' + rest.lstrip('/') if scheme.lower() == 'file' else rest)}"
