"""Statistics of a table: read for a snapshot, and written for a new one (Paimon: `Statistics`)."""

from __future__ import annotations

import uuid

from paimon_sql.errors import CorruptFileError
from paimon_sql.format.layout.paths import statistics_name
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.statistics.table_statistics import TableStatistics, parse_statistics
from paimon_sql.storage.table.table import Table


def statistics_of(table: Table, snapshot: Snapshot | None) -> TableStatistics | None:
    """Return the statistics of a snapshot; None if it has none, or their file is missing."""
    if snapshot is None or snapshot.statistics is None:
        return None
    path = table.paths.statistics(snapshot.statistics)
    data = table.file_io.read_if_exists(path)
    return None if data is None else parse_statistics(data, path)


def inherited_statistics(table: Table, latest: Snapshot | None) -> str | None:
    """Return the statistics file of the next snapshot: that of the latest one, if the schema is unchanged."""
    try:
        found = statistics_of(table, latest)
    except CorruptFileError:
        return latest.statistics if latest else None  # must not fail a write of rows
    return latest.statistics if latest and found and found.schema_id == table.schema.id else None


def written_statistics(table: Table, statistics: TableStatistics) -> str:
    """Write statistics to a new file; return its name."""
    name = statistics_name(str(uuid.uuid4()), 0)
    table.file_io.write_bytes(table.paths.statistics(name), statistics.to_json().encode())
    return name
