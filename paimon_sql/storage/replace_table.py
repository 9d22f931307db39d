"""REPLACE TABLE: a new definition and new rows in the place of the old ones, whose snapshots stay readable.

The new columns take ids that were never used, so no old file can be taken for theirs. What the table held is removed
by a snapshot of its own before the new definition appears: a reader sees the old rows, or none, or the new ones, but
never old rows under new columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from paimon_sql.errors import CommitConflictError, InvalidSchemaError
from paimon_sql.format.schema import TableSchema
from paimon_sql.format.types import RowType, field_ids, reassign_ids
from paimon_sql.storage.commit.committer import Committer
from paimon_sql.storage.commit.messages import CommitMessage
from paimon_sql.storage.commit.overwrite import Overwrite, overwritten
from paimon_sql.storage.table import Table


def replacement(old: TableSchema, new: TableSchema) -> TableSchema:
    """The version that puts a new definition in the place of an old one.

    Args:
        old: the newest version of the table.
        new: the definition, as of a new table.

    Raises:
        InvalidSchemaError: the partition columns change, which old and new manifests could not do together.
    """
    if [(f.name, f.type) for f in old.partition_fields] != [(f.name, f.type) for f in new.partition_fields]:
        raise InvalidSchemaError(
            f"The partition columns of a table that is replaced cannot change from {_names(old)} to {_names(new)}.",
            remedy="Drop the table and create it anew.",
        )
    row = reassign_ids(RowType(True, new.fields), count(old.highest_field_id + 1).__next__)
    assert isinstance(row, RowType)
    highest = max(field_ids(row), default=old.highest_field_id)
    return replace(new, id=old.id + 1, fields=row.fields, highest_field_id=highest)


def clear_and_redefine(table: Table, schema: TableSchema) -> None:
    """Remove all rows of a table and give it its new definition.

    Args:
        table: the table, opened at the version that ``schema`` follows.
        schema: what `replacement` made.

    Raises:
        CommitConflictError: the definition was changed meanwhile; nothing was removed if that was seen in time.
    """
    if table.schemas.ids()[-1] != table.schema.id:
        raise _changed_meanwhile(table)
    everything = Overwrite()
    Committer(table).overwrite([], lambda latest: overwritten(table, latest, everything, []))
    if not table.schemas.try_add(schema):
        raise _changed_meanwhile(table)


def discard(table: Table, messages: Sequence[CommitMessage]) -> None:
    """Delete the files of rows that were written and will not be committed."""
    paths = [
        path
        for message in messages
        for file in (*message.new_files, *message.changelog_files)
        for path in table.locations.files_of(message.partition, message.bucket, file)
    ]
    table.file_io.delete_many(paths)


def _names(schema: TableSchema) -> str:
    return ", ".join(f"{f.name} {f.type.sql()}" for f in schema.partition_fields) or "none"


def _changed_meanwhile(table: Table) -> CommitConflictError:
    return CommitConflictError(
        f"{table.name}: the definition was changed while the table was being replaced.",
        remedy="Run the statement again.",
    )
