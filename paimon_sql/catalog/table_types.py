"""Table types by the option ``type``, as catalogs handle them (Paimon: Table Types).

A type is a small class; new ones are added to `KINDS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from paimon_sql.errors import InvalidOptionError, UnsupportedError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import FORMAT_TABLE_ENABLED
from paimon_sql.format.options.table.table import TYPE
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.file_io import file_io_of
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.materialized.definition import is_suspended
from paimon_sql.storage.object_tables.definition import OBJECT_FIELDS, object_location
from paimon_sql.storage.table.table import Table

if TYPE_CHECKING:
    from paimon_sql.storage.schema.changes.base import SchemaChange

AnyTable: TypeAlias = Table | FormatTable
"""A table of any type."""


class TableType(ABC):
    """A table type.

    Attributes:
        type: its value of the option ``type``.
        is_replacing: whether CREATE OR REPLACE TABLE can replace another table by one of this type.
        may_stand_elsewhere: whether the option ``path`` may set another location than the table's directory.
    """

    type: ClassVar[str]
    is_replacing: ClassVar[bool] = True
    may_stand_elsewhere: ClassVar[bool] = False

    def columns(self, given: Sequence[DataField]) -> Sequence[DataField]:
        """The columns of a new table, by those of the statement."""
        return given

    def is_offered(self, catalog_options: Mapping[str, str]) -> bool:
        """Whether a catalog with such options has tables of this type."""
        return True

    @abstractmethod
    def opened(self, table: Table, catalog_options: Mapping[str, str]) -> AnyTable:
        """Open a table of this type.

        Args:
            table: its directory and schema.
            catalog_options: the options of its catalog.
        """

    def refusal(self, table: Table) -> UnsupportedError | None:
        """The error of statements that write or change rows of a table of this type; None if they are allowed."""
        return None

    def changed(
        self, table: AnyTable, schema: TableSchema, changes: Sequence[SchemaChange], *, case_sensitive: bool
    ) -> TableSchema:
        """Apply changes to the schema of a table of this type.

        Raises:
            InvalidInputError: a change is not possible.
        """
        # Tables are opened far more often than altered, and the rules for schemas know all of storage.
        from paimon_sql.storage.merge.lookup_levels import check_merging
        from paimon_sql.storage.schema.changes.base import apply_changes

        has_data = isinstance(table, Table) and table.snapshots.latest_id() is not None
        new_schema = apply_changes(schema, changes, has_data=has_data, case_sensitive=case_sensitive)
        if has_data:
            check_merging(table.name, TableOptions(schema.options), TableOptions(new_schema.options))
        return new_schema


class SnapshotKind(TableType):
    """Tables with snapshots."""

    type: ClassVar[str] = "table"

    def opened(self, table: Table, catalog_options: Mapping[str, str]) -> Table:
        return table


class MaterializedKind(SnapshotKind):
    """Tables with snapshots whose rows are the result of a query."""

    type = "materialized-table"
    is_replacing = False

    def refusal(self, table: Table) -> UnsupportedError | None:
        if is_suspended(table.schema):
            return None
        return UnsupportedError(
            f"{table.name} is a materialized table, whose rows come from its query.",
            remedy="Change the tables of its query and refresh it, or ALTER MATERIALIZED TABLE .. SUSPEND first.",
        )


class FormatKind(TableType):
    """Directories of plain files."""

    type = "format-table"
    may_stand_elsewhere = True

    def is_offered(self, catalog_options: Mapping[str, str]) -> bool:
        return TableOptions(catalog_options).get(FORMAT_TABLE_ENABLED)

    def opened(self, table: Table, catalog_options: Mapping[str, str]) -> FormatTable:
        found = FormatTable(table.name, table.path, table.file_io, table.file_io, table.schema)
        return replace(found, file_io=file_io_of(found.location, catalog_options)) if found.is_external else found

    def changed(
        self, table: AnyTable, schema: TableSchema, changes: Sequence[SchemaChange], *, case_sensitive: bool
    ) -> TableSchema:
        from paimon_sql.storage.schema.changes.base import apply_changes
        from paimon_sql.storage.schema.changes.format_tables import check_alteration

        check_alteration(schema, changes)
        return apply_changes(schema, changes, has_data=True, case_sensitive=case_sensitive)


class ObjectKind(SnapshotKind):
    """Tables with snapshots whose rows are the files of a directory."""

    type = "object-table"

    def columns(self, given: Sequence[DataField]) -> Sequence[DataField]:
        return given or OBJECT_FIELDS

    def refusal(self, table: Table) -> UnsupportedError | None:
        return UnsupportedError(
            f"{table.name} is an object table: its rows are the files of {object_location(table)}.",
            remedy="CALL sys.refresh_object_table updates the list.",
        )


KINDS: dict[str, TableType] = {
    kind.type: kind for kind in (SnapshotKind(), MaterializedKind(), FormatKind(), ObjectKind())
}
"""The supported types, by the values of ``type``."""


def kind_of(schema: TableSchema) -> TableType:
    """The type of a table.

    Raises:
        UnsupportedError: the type is not supported.
    """
    return kind_named(TableOptions(schema.options).get(TYPE))


def kind_named(name: str) -> TableType:
    """The type by its value of the option ``type``.

    Raises:
        UnsupportedError: the type is not supported.
    """
    if name not in KINDS:
        raise UnsupportedError(f"Tables of type '{name}' are not supported.", remedy="Leave USING and 'type' out.")
    return KINDS[name]


def writable(table: Table) -> Table:
    """The table itself, if statements may write or change its rows.

    Raises:
        UnsupportedError: its rows come from a query or a directory.
    """
    refusal = kind_of(table.schema).refusal(table)
    if refusal is not None:
        raise refusal
    return table


def offered_kind(schema: TableSchema, catalog: str, catalog_options: Mapping[str, str]) -> TableType:
    """The type of a new table in a catalog with this name and these options.

    Raises:
        UnsupportedError: the type is not supported.
        InvalidOptionError: the catalog's options disable the type.
    """
    kind = kind_of(schema)
    if not kind.is_offered(catalog_options):
        raise InvalidOptionError(
            f"Catalog {catalog} does not support format tables, because '{FORMAT_TABLE_ENABLED.key}' is false.",
            key=FORMAT_TABLE_ENABLED.key,
        )
    return kind
