"""Where the last refresh of a materialized table stood: kept in the snapshot that it made.

So what is known and what is read can never part: a rollback takes both back, a branch or tag has its own. Compactions
and statistics, which change no row, hand it on; after any other snapshot without it nothing is known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from paimon_sql.errors import NoSuchSnapshotError
from paimon_sql.format.bytes.bounded import load_json
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.storage.materialized.definition import Definition
from paimon_sql.storage.table.table import Table

PROPERTY = "materialized-table.refresh"
_SAME_ROWS = (CommitKind.COMPACT, CommitKind.ANALYZE)


@dataclass(frozen=True)
class SourceState:
    """A table as a refresh read it.

    Attributes:
        table: its full name.
        branch: its branch.
        snapshot: the snapshot's id; None if nothing was written to it yet.
        time_millis: when that snapshot was committed, which tells it from one of another table of that name.
        schema: the id of the schema under which it was read.
    """

    table: str
    branch: str
    snapshot: int | None
    time_millis: int | None
    schema: int


@dataclass(frozen=True)
class RefreshState:
    """What a refresh left behind.

    Attributes:
        query: the digest of the query.
        refreshed: when the table was last brought up to date, in milliseconds since the epoch; None where only named
            partitions were.
        mode: how: FULL or INCREMENTAL.
        sources: the tables as they were read; None where not all rows are from these, or one cannot be asked.
        views: the digest of the views that were read.
    """

    query: str
    refreshed: int | None
    mode: str
    sources: tuple[SourceState, ...] | None = None
    views: str = ""

    def properties(self) -> dict[str, str]:
        """What the snapshot keeps."""
        return {PROPERTY: json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))}

    @staticmethod
    def read(properties: Mapping[str, str] | None) -> RefreshState | None:
        """What a snapshot keeps; None if it keeps none that can be read."""
        text = (properties or {}).get(PROPERTY)
        if text is None:
            return None
        try:
            found: dict[str, Any] = load_json(text)
            sources = found["sources"]
            read = None if sources is None else tuple(SourceState(**source) for source in sources)
            return RefreshState(found["query"], found["refreshed"], found["mode"], read, found["views"])
        except (ValueError, LookupError, TypeError):
            return None


def inherited_properties(kind: CommitKind, latest: Snapshot | None) -> dict[str, str]:
    """What a snapshot of that kind has from the one that it is put on."""
    known = (latest.properties or {}) if latest and kind in _SAME_ROWS else {}
    return {PROPERTY: known[PROPERTY]} if PROPERTY in known else {}


def last_refresh(table: Table) -> RefreshState | None:
    """What the last refresh left behind; None if there was none, or rows were changed since, or nobody can tell.

    Compactions of other engines hand nothing on; what stood before them is looked for.
    """
    snapshot = table.snapshots.latest()
    while snapshot is not None:
        found = RefreshState.read(snapshot.properties)
        if found is not None or not keeps_rows(snapshot):
            return found
        try:
            snapshot = table.snapshots.get(snapshot.id - 1)
        except NoSuchSnapshotError:
            return None
    return None


def keeps_rows(snapshot: Snapshot) -> bool:
    """Whether a snapshot has the rows of the one before."""
    return snapshot.commit_kind in _SAME_ROWS


def is_due(definition: Definition, state: RefreshState | None, now: int) -> bool:
    """Whether a refresh is due: the last one is older than the freshness, or was of another query.

    Args:
        definition: the table's definition.
        state: what the last refresh left behind.
        now: the present, in milliseconds since the epoch.
    """
    if state is None or state.refreshed is None or state.query != definition.digest:
        return True
    return now - state.refreshed >= definition.freshness.length.total_seconds() * 1000
