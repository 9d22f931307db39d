"""Write plans: the task that all writers of a statement run, by the table's bucket mode."""

from __future__ import annotations

from dataclasses import replace

from paimon_sql.storage.staging.overwrite import Overwrite
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.registry import bucket_mode
from paimon_sql.storage.write.buckets.state import WriteState
from paimon_sql.storage.write.rows.blob_references import refuse_managed
from paimon_sql.storage.write.task import WriteTask


def plan_write(table: Table, overwrite: Overwrite | bool | None = None) -> WriteTask:
    """Plan the task that each writer of a statement runs.

    Args:
        table: the table.
        overwrite: what the rows replace, True for everything: sequence numbers and dynamic buckets start anew there.

    Raises:
        UnsupportedError: rows of the table cannot be written.
    """
    refuse_managed(table.schema, table.name)
    replaced = Overwrite() if overwrite is True else overwrite or None
    state = WriteState(table, replaced, table.snapshots.latest())
    task = bucket_mode(table.schema).plan(state)
    has_sequences = bool(table.schema.primary_keys) and replaced is None
    return replace(task, planned_on=state.snapshot) if has_sequences else task
