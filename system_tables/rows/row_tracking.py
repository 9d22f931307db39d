"""``t$row_tracking``: the rows of a table with their ids."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.options.table.row_tracking import ROW_TRACKING_ENABLED
from paimon_sql.format.schema.system_fields import ROW_ID, SEQUENCE_NUMBER
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.read.metadata_columns import is_tracked
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import RowsTask, ScannedTable


class RowTracking(ScannedTable):
    """Ids are kept by updates and compactions; the sequence number of a row is the snapshot that last changed it."""

    summary = "The rows with their ids and the snapshots that changed them last."

    def fields(self, table: Table) -> tuple[DataField, ...]:
        if not is_tracked(table.schema):
            raise UnsupportedError(
                f"{table.name} has no row tracking, so {table.name}$row_tracking does not exist.",
                remedy=f"Create the table with '{ROW_TRACKING_ENABLED.key}' = 'true'.",
            )
        return (*table.schema.fields, ROW_ID, SEQUENCE_NUMBER)

    def shared(self, table: Table) -> tuple[DataField, ...]:
        return table.schema.fields

    def task(self, table: Table, split: Split, names: Sequence[str], predicate: Predicate | None) -> RowsTask:
        return ReadTask(table, split, tuple(names), predicate)
