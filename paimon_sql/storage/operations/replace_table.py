"""REPLACE TABLE: a new definition and new rows in the place of the old ones, whose snapshots stay readable.

The new columns take ids that were never used, so no old file can be taken for theirs. One snapshot removes the old rows
and brings the new ones: a reader sees the old table or the new one.
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
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.overwrite import Overwrite, overwritten
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.staging.table_identity import SAME_DEFINITION, changed_table, is_same_table
from paimon_sql.storage.table.table import Table


def keeps_history(old: TableSchema, new: TableSchema) -> bool:
    """Whether a table can have one definition after the other: manifests of both are read by the same partitions."""
    return _partitioning(old) == _partitioning(new)


def replacement(table: Table, new: TableSchema) -> TableSchema:
    """The version that puts a new definition in the place of a table's.

    Args:
        table: the table as it is.
        new: the definition, as of a new table.

    Raises:
        InvalidSchemaError: the partition columns change, which old and new manifests could not do together.
    """
    old, newest = table.schema, table.schemas.newest()  # looked at once: ids of versions and of columns come from it
    if not keeps_history(old, new):
        raise InvalidSchemaError(
            f"The partition columns of a table that is replaced cannot change from {_names(old)} to {_names(new)}.",
            remedy="Drop the table and create it anew.",
        )
    row = reassign_ids(RowType(True, new.fields), count(newest.highest_field_id + 1).__next__)
    assert isinstance(row, RowType)
    highest = max(field_ids(row), default=newest.highest_field_id)
    return replace(new, id=newest.id + 1, fields=row.fields, highest_field_id=highest)


def replace_table(transaction: Transaction, old: Table, messages: Sequence[CommitMessage]) -> Snapshot:
    """Give a table a new definition and new rows by one snapshot; on an error it has its old ones.

    The new version of the schema is written first, under which the snapshot is then made. Until that is there, readers
    go on with the version before (`SchemaManager.latest`).

    Args:
        transaction: commits the rows, whose files it owns from here on; its table is the one with the new definition,
            which `replacement` made.
        old: the table as it was.
        messages: the new rows.

    Raises:
        CommitConflictError: the definition was changed meanwhile.
    """
    table = transaction.table
    transaction.staged.add(messages)
    if not is_same_table(old):
        raise changed_table(old)
    if old.snapshots.latest_id() is None:
        # A definition counts once a snapshot has it: so the old one needs one, too, to count until then.
        with Transaction(old) as empty:
            operations.annotate(empty)
    if not table.schemas.try_add(table.schema, old.schema):
        raise _changed_meanwhile(table)
    everything = Overwrite()
    transaction.waive(SAME_DEFINITION)
    transaction.require(Validation("the definition was not changed meanwhile", _check_newest))
    try:
        # What is replaced has other columns, so that no chain of it goes on.
        made = operations.overwrite(
            transaction,
            messages,
            lambda latest: overwritten(table, latest, everything, []),
            even_if_empty=True,
        )
    except BaseException:
        if transaction.outcome is Outcome.OPEN:
            _withdraw(old, table.schema)
        raise
    assert made is not None
    with suppress(PaimonError, OSError):  # the snapshot stands: what fails now is no failure of the statement
        _put_on_top(replace(table).schemas)
    return made


def _check_newest(proposal: Proposal) -> None:
    table = proposal.table
    if table.schemas.ids()[-1:] != [table.schema.id]:
        raise _changed_meanwhile(table)


def _withdraw(old: Table, schema: TableSchema) -> None:
    """Take the new version of the schema back; one that others have added meanwhile was built on the old one."""
    if not is_same_table(replace(old, schema=schema)):
        return  # the table is gone
    schemas = replace(old).schemas
    if schemas.newest().id == schema.id:
        schemas.remove(schema.id)
    else:
        _put_on_top(schemas)


def _put_on_top(schemas: SchemaManager) -> None:
    """Let the newest version be the table's own, for readers who look no farther; a rival's may stand over it."""
    latest = schemas.latest()
    if latest is not None and schemas.newest().id != latest.id:
        schemas.evolve(lambda current: replace(current))


def _partitioning(schema: TableSchema) -> list[tuple[str, DataType]]:
    """What manifests know of partitions; that a column may be null, as one of a key may not, is nothing to them."""
    return [(f.name, f.type.as_nullable()) for f in schema.partition_fields]


def _names(schema: TableSchema) -> str:
    return ", ".join(f"{f.name} {f.type.sql()}" for f in schema.partition_fields) or "none"


def _changed_meanwhile(table: Table) -> CommitConflictError:
    return CommitConflictError(
        f"{table.name}: the definition was changed while the table was being replaced.",
        remedy="Run the statement again.",
    )
