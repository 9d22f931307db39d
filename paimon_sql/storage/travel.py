"""Which snapshot a read sees: the newest, or the one that the options of the read name."""

from __future__ import annotations

from paimon_sql.format.snapshot import Snapshot
from paimon_sql.storage.table import Table


def snapshot_to_read(table: Table) -> Snapshot | None:
    """The snapshot that the table's options name; the newest without any, None if nothing was written yet."""
    options = table.schema.options
    if wanted := options.get("scan.snapshot-id"):
        return table.snapshots.get(int(wanted))
    if wanted := options.get("scan.timestamp-millis"):
        return table.snapshots.at_time(int(wanted))
    return table.snapshots.latest()
