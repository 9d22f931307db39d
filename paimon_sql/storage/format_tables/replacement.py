"""REPLACE TABLE of a format table: new schema and files replace the old ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.file_io import file_io_of
from paimon_sql.storage.format_tables.changes import drop_partitions, empty, publish
from paimon_sql.storage.format_tables.partitions import Partition, all_partitions, folders_of
from paimon_sql.storage.format_tables.table import FormatTable


def replacement(old: FormatTable, schema: TableSchema, catalog_options: Mapping[str, str]) -> FormatTable:
    """The table that will replace another one; it is not visible yet.

    Args:
        old: the existing table.
        schema: the new schema, as that of a new table.
        catalog_options: the options of its catalog.
    """
    new = replace(old, schema=replace(schema, id=old.schema.id + 1))
    return replace(new, file_io=file_io_of(new.location, catalog_options) if new.is_external else old.own_io)


def replace_table(old: FormatTable, new: FormatTable, staging: str | None) -> None:
    """Replace the schema and the files of a table.

    The old files are deleted before the new schema is written, so that they are never read with it. Files outside of
    the table's directory are kept, as in a drop of such a table, unless the new location is the same.

    Args:
        old: the existing table.
        new: the result of `replacement`.
        staging: the directory with the new files; None for none.

    Raises:
        CommitConflictError: the schema was changed concurrently; nothing was deleted if that was detected first.
    """
    if old.schemas.ids()[-1] != old.schema.id:
        raise _changed_meanwhile(old)
    if not old.is_external or old.location == new.location:
        _clear(old)
    if not new.schemas.try_add(new.schema, old.schema):
        raise _changed_meanwhile(old)
    if staging is not None:
        publish(new, staging, None)


def _clear(table: FormatTable) -> None:
    """Delete all files and their directories, which could be partitions in the new schema."""
    partitions = all_partitions(table)
    if table.partition_fields:
        drop_partitions(table, partitions)
        return
    subdirectories = [directory for directory in folders_of(table, partitions[0]) if directory != table.location]
    empty(table, partitions)
    drop_partitions(table, [Partition(directory) for directory in subdirectories])


def _changed_meanwhile(table: FormatTable) -> CommitConflictError:
    return CommitConflictError(
        f"{table.name}: the definition was changed while the table was being replaced.",
        remedy="Run the statement again.",
    )
