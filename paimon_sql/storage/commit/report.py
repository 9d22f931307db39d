"""Reporting of commits to the log and the metrics."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.storage.execution.metrics import COMMIT, process_metrics
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.table.table import Table

LOG = logging.getLogger("paimon_sql.commits")
"""Logs one line per commit on level INFO."""


def report_commit(table: Table, snapshot: Snapshot, changes: Changes, attempts: int, seconds: float) -> None:
    """Report a commit to the log and the metrics.

    Args:
        table: the table.
        snapshot: the committed snapshot.
        changes: its changes.
        attempts: the number of attempts.
        seconds: their total duration.
    """
    added, added_bytes = _counted(changes.entries, FileKind.ADD)
    removed, removed_bytes = _counted(changes.entries, FileKind.DELETE)
    changelog_files, _ = _counted(changes.changelog, FileKind.ADD)
    measured: dict[str, float] = {
        "commitDuration": round(seconds * 1000),
        "commitAttempts": attempts,
        "committedSnapshotId": snapshot.id,
        "tableFilesAdded": added,
        "tableFilesDeleted": removed,
        "changelogFilesAppended": changelog_files,
        "partitionsWritten": len({e.partition for e in changes.entries}),
        "bucketsWritten": len({(e.partition, e.bucket) for e in changes.entries}),
    }
    if snapshot.commit_kind is CommitKind.COMPACT:
        measured |= {"compactionInputFileSize": removed_bytes, "compactionOutputFileSize": added_bytes}
    elif snapshot.delta_record_count is not None:
        measured["deltaRecordsAppended"] = snapshot.delta_record_count
    process_metrics().note(table.metric_key, COMMIT, measured)
    if LOG.isEnabledFor(logging.INFO):
        branch = "" if table.branch == MAIN_BRANCH else f"$branch_{table.branch}"
        LOG.info(
            "%s%s: snapshot %d, %s of %s records, %d files of %d bytes added, %d of %d bytes removed, %d"
            " changelog files, %d ms, attempt %d, user %s",
            table.name,
            branch,
            snapshot.id,
            snapshot.commit_kind.value,
            "unknown" if snapshot.delta_record_count is None else f"{snapshot.delta_record_count:+d}",
            added,
            added_bytes,
            removed,
            removed_bytes,
            changelog_files,
            measured["commitDuration"],
            attempts,
            snapshot.commit_user,
        )


def _counted(entries: Iterable[ManifestEntry], kind: FileKind) -> tuple[int, int]:
    sizes = [e.file.file_size for e in entries if e.kind == kind]
    return len(sizes), sum(sizes)
