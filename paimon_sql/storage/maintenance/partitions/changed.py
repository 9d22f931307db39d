"""Partitions that have changed since a time, whatever zone the clocks of their writers were in."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.text.wall_clock import epoch_millis
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.table.paths.data_file_paths import data_file_paths
from paimon_sql.storage.table.table import Table

_WESTERNMOST = 12 * 3_600_000
_THREADS = 32


def changed_since(table: Table, millis: int) -> set[bytes]:
    """The partitions, serialised, that seem older than a time and have a file that was written since.

    A manifest notes the creation of a file by the wall clock of its writer, in a zone that it does not name (Paimon's
    ``DataFileMeta``). A file that may be younger by the clock of a zone further west than this machine's is looked at:
    the store tells when it was written. A copy is as old as its copying.

    Args:
        table: the table.
        millis: the time, in milliseconds since the epoch.
    """
    entries = live_files(table, table.snapshots.latest()).entries
    newest = entries.group_by("partition").aggregate([("creation_time_millis", "max")])
    walls = newest["creation_time_millis_max"].to_pylist()
    old = [wall is not None and epoch_millis(wall) < millis <= wall + _WESTERNMOST for wall in walls]
    doubtful = newest["partition"].combine_chunks().filter(pa.array(old, pa.bool_()))
    if not len(doubtful):
        return set()
    asked = pc.and_(
        pc.is_in(entries["partition"], value_set=doubtful),
        pc.greater_equal(entries["creation_time_millis"], millis - _WESTERNMOST),
    )
    chosen = entries.filter(asked)
    threads = table.file_io.threads_for(table.path, len(chosen), _THREADS)
    found = spread(table.file_io.status, data_file_paths(table, chosen).to_pylist(), threads)
    partitions = chosen["partition"].to_pylist()
    return {p for p, s in zip(partitions, found, strict=True) if s is not None and s.mtime_millis >= millis}
