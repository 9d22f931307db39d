"""Files of the buckets that a write changes, as they will be after it: the input of plans of due compactions."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.overwrite import Overwrite
from paimon_sql.storage.table.table import Table


def touched_files(
    table: Table, latest: Snapshot | None, messages: Sequence[CommitMessage], overwrite: Overwrite | None
) -> tuple[list[ManifestEntry], list[ManifestEntry]]:
    """Return all files of the buckets that a write adds files to, as they will be after it.

    Args:
        table: the table.
        latest: its latest snapshot, which does not contain the messages' files yet.
        messages: the messages to commit.
        overwrite: what the write replaces; None for one that appends.

    Returns:
        The files of replaced partitions, which are all new, and those of the other partitions.
    """
    touched = {(m.partition, m.bucket) for m in messages if m.new_files}
    partitions = {partition for partition, _ in touched}
    replaced = overwrite.replaces(table, partitions) if overwrite is not None else frozenset[bytes]()
    rest = partitions - replaced
    existing = entries(live_files(table, latest, partitions=rest).entries) if rest else []
    new = [
        ManifestEntry(FileKind.ADD, m.partition, m.bucket, m.total_buckets, f) for m in messages for f in m.new_files
    ]
    in_replaced = [e for e in new if e.partition in replaced]
    return in_replaced, [e for e in [*existing, *new] if e.partition in rest and (e.partition, e.bucket) in touched]
