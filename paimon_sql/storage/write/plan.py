"""Write plans: the task that all writers of a statement run, by the table's bucket mode, and its description."""

from __future__ import annotations

from dataclasses import replace

from paimon_sql.format.options.operations.changelog import CHANGELOG_PRODUCER
from paimon_sql.format.options.table.merge_engine import MERGE_ENGINE
from paimon_sql.storage.staging.proposal import Overwrite
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.base import WriteState, bucket_mode
from paimon_sql.storage.write.row_preparation import refuse_managed
from paimon_sql.storage.write.task import WriteLayout, WriteTask


def plan_write(table: Table, overwrite: Overwrite | None = None) -> WriteTask:
    """Plan the task that each writer of a statement runs.

    Args:
        table: the table.
        overwrite: what the rows replace: sequence numbers and dynamic buckets start anew there.

    Raises:
        UnsupportedError: rows of the table cannot be written.
    """
    refuse_managed(table.schema, table.name)
    state = WriteState(table, overwrite, table.snapshots.latest())
    needs_sequences = WriteLayout.of(table).orders_rows and overwrite is None
    return replace(bucket_mode(table.schema).plan(state), planned_on=state.snapshot, needs_sequences=needs_sequences)


def describe_write(table: Table, overwrite: Overwrite | None) -> str:
    """A description of a write in one line: what becomes of the rows, before any is known.

    Args:
        table: the table.
        overwrite: the rows that they replace; None appends.
    """
    merges, changelog = WriteLayout.of(table).orders_rows, table.options.get(CHANGELOG_PRODUCER)
    parts = [
        "append" if overwrite is None else str(overwrite),
        bucket_mode(table.schema).describe(table),
        *([f"merge engine {table.options.get(MERGE_ENGINE)}"] if merges else []),
        *([f"changelog producer {changelog}"] if changelog != "none" else []),
    ]
    return ", ".join(parts)
