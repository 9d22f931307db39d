"""ALTER TABLE: changes of a table's schema, as one new version of it."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.table_types import kind_of
from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.options.table.materialized_table import MATERIALIZED_TABLE_DEFINITION_QUERY
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.materialized.definition import is_materialized
from paimon_sql.storage.schema.changes.alter_columns import UpdateColumnComment
from paimon_sql.storage.schema.changes.base import SchemaChange
from paimon_sql.storage.schema.changes.options import RemoveOption, SetOption, UpdateComment


def alter_table(
    catalog: Catalog, identifier: Identifier, changes: Sequence[SchemaChange], *, case_sensitive: bool
) -> TableSchema:
    """Apply a statement's changes to the schema of a table or branch, as one new version.

    Raises:
        NoSuchTableError: there is no such table.
        InvalidInputError: the name is that of a system table, or a change is not possible.
        UnsupportedError: the table is materialized, and its columns or its query would change.
    """
    if is_materialized(catalog.authorized_table(identifier).schema):
        for change in changes:
            _refuse_redefinition(identifier, change)
    return change_table(catalog, identifier, changes, case_sensitive=case_sensitive)


def change_table(
    catalog: Catalog, identifier: Identifier, changes: Sequence[SchemaChange], *, case_sensitive: bool
) -> TableSchema:
    """As `alter_table`, but also for materialized tables."""
    if identifier.system_table is not None:
        raise InvalidInputError(
            f"{identifier} cannot be altered: it is a part of table {identifier.database}.{identifier.table}."
        )

    def change(schema: TableSchema) -> TableSchema:
        table = catalog.authorized_table(identifier)
        return kind_of(schema).changed(table, schema, changes, case_sensitive=case_sensitive)

    return catalog.alter_table(identifier, change)


def _refuse_redefinition(identifier: Identifier, change: SchemaChange) -> None:
    if isinstance(change, SetOption | RemoveOption) and change.key != MATERIALIZED_TABLE_DEFINITION_QUERY.key:
        return
    if not isinstance(change, UpdateComment | UpdateColumnComment):
        raise UnsupportedError(
            f"{identifier} is a materialized table, whose columns are those of its query.",
            remedy="Use ALTER MATERIALIZED TABLE .. AS to change its query.",
        )
