"""Where a new table may stand: in its own folder of the warehouse, where it is found by its name.

The files of some kinds of tables may stand elsewhere; the table is found by its definition all the same.
"""

from __future__ import annotations

import posixpath
from dataclasses import replace

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import MAIN_BRANCH, Identifier
from paimon_sql.catalog.table_types import kind_of
from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.table.table import PATH
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.file_io import file_io_of
from paimon_sql.storage.file_io.paths import join


def placed(catalog: Catalog, identifier: Identifier, schema: TableSchema) -> TableSchema:
    """The schema of a new table, without the place that it says if that is the table's own anyway.

    Raises:
        InvalidInputError: the name is that of a branch or system table, or the table cannot stand at that place.
    """
    refuse_parts(identifier, "created")
    said = schema.options.get(PATH.key)
    if said is None:
        return schema
    own = catalog.table_location(identifier)
    if _plain(said) != _plain(own):
        holds_files = kind_of(schema).may_stand_elsewhere
        if holds_files or catalog.places_tables:
            place = _elsewhere(catalog, identifier, said, may_hold_table=not holds_files)
            return replace(schema, options={**schema.options, PATH.key: place})
        raise InvalidInputError(
            f"Table {identifier} cannot stand in '{said}': catalog {catalog.name} finds tables by name, so its place is"
            f" '{own}'.",
            remedy="Leave LOCATION and 'path' out.",
        )
    return replace(schema, options={k: v for k, v in schema.options.items() if k != PATH.key})


def _elsewhere(catalog: Catalog, identifier: Identifier, said: str, *, may_hold_table: bool) -> str:
    """A place outside of the table's own folder, as it is kept."""
    place = said.rstrip("/")
    if not place.startswith("/") and "://" not in place and not place.startswith("file:/"):
        raise InvalidInputError(
            f"Table {identifier} cannot stand in '{said}': a place is a path from the root, or a URI."
        )
    if not may_hold_table and file_io_of(place, catalog.options).exists(join(place, "schema")):
        raise InvalidInputError(f"Table {identifier} cannot stand in '{said}', where another table of Paimon stands.")
    return place


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
