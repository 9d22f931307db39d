"""The buckets that a write adds files to, as they will be after it: what compactions that become due are planned on."""

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
    """All files of the buckets that a write adds files to, as they will be after it.

    Args:
        table: the table.
        latest: its newest snapshot, which does not hold the messages' files yet.
        messages: what is about to be committed.
        overwrite: what the write replaces; None for one that appends.

    Returns:
        The files of the partitions that are replaced, where new ones are alone, and those of the others.
    """
    touched = {(m.partition, m.bucket) for m in messages if m.new_files}
    partitions = {partition for partition, _ in touched}
    replaced = overwrite.replaces(table, partitions) if overwrite is not None else frozenset[bytes]()
    rest = partitions - replaced
    known = entries(live_files(table, latest, partitions=rest).entries) if rest else []
    new = [
        ManifestEntry(FileKind.ADD, m.partition, m.bucket, m.total_buckets, f) for m in messages for f in m.new_files
    ]
    alone = [e for e in new if e.partition in replaced]
    return alone, [e for e in [*known, *new] if e.partition in rest and (e.partition, e.bucket) in touched]
