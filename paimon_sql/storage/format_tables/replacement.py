"""REPLACE TABLE of a format table: a new definition and new files in the place of the old ones."""

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
    """The table that takes the place of another one, which nobody sees yet.

    Args:
        old: the table as it is.
        schema: the new definition, as of a new table.
        catalog_options: the options of its catalog.
    """
    new = replace(old, schema=replace(schema, id=old.schema.id + 1))
    return replace(new, file_io=file_io_of(new.location, catalog_options) if new.is_external else old.own_io)


def take_place(old: FormatTable, new: FormatTable, staging: str | None) -> None:
    """Give a table its new definition and the files of a write, and remove those that it had.

    The old files go before the new definition comes, so that nobody reads them under it. Files outside of the table's
    folder stay, as they do when such a table is dropped, unless the new ones stand in the same place.

    Args:
        old: the table as it was.
        new: what `replacement` made of it.
        staging: the folder with the new files; None for none.

    Raises:
        CommitConflictError: the definition was changed meanwhile; nothing was removed if that was seen in time.
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
    """Remove all files and the folders that they stand in, which might pass for partitions of another definition."""
    partitions = all_partitions(table)
    if table.partition_fields:
        drop_partitions(table, partitions)
        return
    below = [folder for folder in folders_of(table, partitions[0]) if folder != table.location]
    empty(table, partitions)
    drop_partitions(table, [Partition(folder) for folder in below])


def _changed_meanwhile(table: FormatTable) -> CommitConflictError:
    return CommitConflictError(
        f"{table.name}: the definition was changed while the table was being replaced.",
        remedy="Run the statement again.",
    )
