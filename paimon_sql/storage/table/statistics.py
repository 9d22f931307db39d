"""The statistics of a table: read for the snapshots that name them, and committed as a snapshot of their own."""

from __future__ import annotations

import uuid

from paimon_sql.errors import CorruptFileError, MissingFileError
from paimon_sql.format.layout.paths import statistics_name
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.statistics.table_statistics import TableStatistics, parse_statistics
from paimon_sql.storage.table.table import Table


def statistics_of(table: Table, snapshot: Snapshot | None) -> TableStatistics | None:
    """The statistics that a snapshot names; None if it names none, or they are gone."""
    if snapshot is None or snapshot.statistics is None:
        return None
    path = table.paths.statistics(snapshot.statistics)
    try:
        return parse_statistics(table.file_io.read_bytes(path), path)
    except MissingFileError:
        return None


def inherited_statistics(table: Table, latest: Snapshot | None) -> str | None:
    """The file of statistics that the next snapshot takes over: the latest one's, while the schema is the same."""
    try:
        found = statistics_of(table, latest)
    except CorruptFileError:
        return latest.statistics if latest else None  # not the business of whoever writes rows
    return latest.statistics if latest and found and found.schema_id == table.schema.id else None


def written_statistics(table: Table, statistics: TableStatistics) -> str:
    """The name of a new file that holds the statistics."""
    name = statistics_name(str(uuid.uuid4()), 0)
    table.file_io.write_bytes(table.paths.statistics(name), statistics.to_json().encode())
    return name
