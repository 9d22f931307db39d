"""Check that files staged long before their commit still exist, as a removal of orphan files may have deleted them.

A writer that was suspended for longer than the grace period of that removal would otherwise commit missing files. On
a local file system flushing reveals a missing file anyway; an object store does not.
"""

from __future__ import annotations

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.staging.staged_files import new_files

_MIN_AGE_MILLIS = 3_600_000
"""Far less than the grace period of orphan files (a day by default), far more than most statements take."""
_THREADS = 16


def _check(proposal: Proposal) -> None:
    table, changes = proposal.table, proposal.changes
    before = current_millis() - _MIN_AGE_MILLIS
    moved = {e.file.file_name for e in changes.entries if e.kind is FileKind.DELETE}
    aged = [
        e
        for e in changes.entries
        if e.kind is FileKind.ADD
        and e.file.file_name not in moved
        and (e.file.creation_epoch_millis() or before) < before
    ]
    if not aged:
        return
    paths = new_files(table, Changes(aged, changes.changelog, changes.indexes))
    existing = map_in_threads(table.file_io.exists, paths, table.file_io.threads_for(table.path, len(paths), _THREADS))
    lost = [path for path, exists in zip(paths, existing, strict=True) if not exists]
    if lost:
        raise CommitConflictError(
            f"{table.name}: {len(lost)} files that the statement wrote were removed before it ended, {lost[0]} among"
            " them.",
            remedy="Run it again, and let the removal of orphan files wait for longer than statements take.",
        )


STILL_THERE = Validation("files that were staged long ago still stand", _check)
