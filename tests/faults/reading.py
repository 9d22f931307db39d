"""What a snapshot shows."""

from __future__ import annotations

from paimon_sql.format.snapshot import Snapshot
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.table import Table
from tests.faults.model import Row

_NAMES = Row._fields


def read_rows(table: Table, snapshot: Snapshot, *, as_of: bool = True) -> list[Row]:
    """The rows of a snapshot, in no particular order.

    Args:
        table: the table.
        snapshot: the snapshot.
        as_of: whether it is read under the columns of its time, or those of the table.
    """
    if as_of:
        table = table.at_schema(snapshot.schema_id)
    found: list[Row] = []
    for split in plan_scan(table, None, snapshot=snapshot).splits:
        for batch in ReadTask(table, split, _NAMES, None).batches():
            found.extend(map(Row, *(batch.column(name).to_pylist() for name in _NAMES)))
    return found
