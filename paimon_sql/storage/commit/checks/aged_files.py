"""Files that were staged long before their commit: the removal of orphan files may have taken them for its own.

A writer that stood still for longer than the grace period of that removal would otherwise commit names without files.
On a disk that is flushed a missing file shows anyway; an object store takes any name.
"""

from __future__ import annotations

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.text.instants import present_millis
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.staging.staged_files import new_files

_LONG_MILLIS = 3_600_000
"""Far less than the grace period of orphan files, a day by default; far more than most statements take."""
_THREADS = 16


def _check(proposal: Proposal) -> None:
    table, changes = proposal.table, proposal.changes
    before = present_millis() - _LONG_MILLIS
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
    there = spread(table.file_io.exists, paths, table.file_io.threads_for(table.path, len(paths), _THREADS))
    lost = [path for path, stands in zip(paths, there, strict=True) if not stands]
    if lost:
        raise CommitConflictError(
            f"{table.name}: {len(lost)} files that the statement wrote were removed before it ended, {lost[0]} among"
            " them.",
            remedy="Run it again, and let the removal of orphan files wait for longer than statements take.",
        )


STILL_THERE = Validation("files that were staged long ago still stand", _check)
