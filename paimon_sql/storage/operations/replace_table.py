"""REPLACE TABLE: a table's definition and rows are replaced; its old snapshots stay readable.

New columns get field ids that were never used, so no column of an old file is read as one of them. One snapshot deletes
the old rows and adds the new ones: a reader sees the old table or the new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count

from paimon_sql.errors import CommitConflictError, InvalidSchemaError, PaimonError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataType, RowType, field_ids, reassign_ids
from paimon_sql.storage.commit.transaction import Outcome, Transaction
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.operations import operations
from paimon_sql.storage.staging import proposal as proposals
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.proposal import changed_table, conflict_error, is_same_table
from paimon_sql.storage.table.table import Table


def keeps_history(old: TableSchema, new: TableSchema) -> bool:
    """Whether one definition can follow the other: manifests of both are read with the same partition columns."""
    return _partitioning(old) == _partitioning(new)


def replacement(table: Table, new: TableSchema) -> TableSchema:
    """The schema version that replaces a table's definition.

    Args:
        table: the table before the replacement.
        new: the definition, as of a new table.

    Raises:
        InvalidSchemaError: the partition columns change, while old and new manifests must have the same.
    """
    old, newest = table.schema, table.schemas.newest()  # read once: both the schema id and the field ids follow it
    if not keeps_history(old, new):
        raise InvalidSchemaError(
            f"The partition columns of a table that is replaced cannot change from {_names(old)} to {_names(new)}.",
            remedy="Drop the table and create it again.",
        )
    row = reassign_ids(RowType(True, new.fields), count(newest.highest_field_id + 1).__next__)
    assert isinstance(row, RowType)
    highest = max(field_ids(row), default=newest.highest_field_id)
    return replace(new, id=newest.id + 1, fields=row.fields, highest_field_id=highest)


def replace_table(transaction: Transaction, old: Table, messages: Sequence[CommitMessage]) -> Snapshot:
    """Replace definition and rows of a table by one snapshot; after an error it has its old ones.

    The new schema version is written first, and the snapshot is committed under it. Until then readers use the version
    before (`SchemaManager.latest`).

    Args:
        transaction: commits the rows, and owns their files from here on; its table has the new definition, made by
            `replacement`.
        old: the table before the replacement.
        messages: the new rows.

    Raises:
        CommitConflictError: the definition was changed meanwhile.
    """
    table = transaction.table
    transaction.staged.own(messages)
    if not is_same_table(old):
        raise changed_table(old)
    if old.snapshots.latest_id() is None:
        # Readers use the schema of the newest snapshot: the old schema needs one to stay in use until the commit.
        with Transaction(old) as empty:
            operations.annotate(empty)
    if not table.schemas.try_add(table.schema, old.schema):
        raise _changed_meanwhile(table)
    transaction.validations.remove(proposals.SAME_DEFINITION)
    transaction.require(proposals.Validation("the definition was not changed meanwhile", _check_newest))
    try:
        # All files are replaced, for the old ones have other columns.
        scope = proposals.Overwrite()
        made = operations.overwrite(
            transaction, messages, lambda latest: proposals.overwritten(table, latest, scope, []), even_if_empty=True
        )
    except BaseException:
        if transaction.outcome is Outcome.OPEN:
            _withdraw(old, table.schema)
        raise
    assert made is not None
    with suppress(PaimonError, OSError):  # the snapshot is committed: a failure here does not fail the statement
        _make_newest_current(table.schemas)
    return made


def _check_newest(proposal: proposals.Proposal) -> None:
    table = proposal.table
    if table.schemas.ids()[-1:] != [table.schema.id]:
        raise _changed_meanwhile(table)


def _withdraw(old: Table, schema: TableSchema) -> None:
    """Remove the new schema version; one that others have added meanwhile was built on the old version."""
    if not is_same_table(replace(old, schema=schema)):
        return  # the table was dropped
    if old.schemas.ids()[-1:] == [schema.id]:
        old.schemas.remove(schema.id)
    else:
        _make_newest_current(old.schemas)


def _make_newest_current(schemas: SchemaManager) -> None:
    """Copy the table's version on top if another is newer, for readers that use the newest version only."""
    latest = schemas.latest()
    if latest is not None and schemas.ids()[-1] != latest.id:
        schemas.evolve(lambda current: replace(current))


def _partitioning(schema: TableSchema) -> list[tuple[str, DataType]]:
    """Names and types of the partition columns as manifests have them: nullability, which keys change, is ignored."""
    return [(f.name, f.type.as_nullable()) for f in schema.partition_fields]


def _names(schema: TableSchema) -> str:
    return ", ".join(f"{f.name} {f.type.sql()}" for f in schema.partition_fields) or "none"


def _changed_meanwhile(table: Table) -> CommitConflictError:
    return conflict_error(table, "the definition was changed while the table was being replaced.")
