"""What a snapshot shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.table.table import Table
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
    for columns in _read(table, snapshot, _NAMES):
        found.extend(map(Row, *columns))
    return found


def rows_by_id(table: Table, snapshot: Snapshot) -> list[tuple[int, Row]]:
    """The rows of a snapshot of a table that tracks them, each behind its id."""
    found: list[tuple[int, Row]] = []
    for ids, *columns in _read(table, snapshot, (ROW_ID.name, *_NAMES)):
        found.extend(zip(ids, map(Row, *columns), strict=True))
    return found


def partitions_held(table: Table) -> list[bytes]:
    """The partitions in which the newest snapshot has files."""
    held: list[bytes] = live_files(table, table.snapshots.latest()).entries["partition"].unique().to_pylist()
    return held


def _read(table: Table, snapshot: Snapshot, names: tuple[str, ...]) -> Iterator[list[list[Any]]]:
    for split in plan_scan(table, None, snapshot=snapshot).splits:
        for batch in ReadTask(table, split, names, None).batches():
            yield [batch.column(name).to_pylist() for name in names]
