"""``CALL sys.purge_files``: remove the rows and the whole history of a table."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from paimon_sql.procedures.base import THE_TABLE, Context, Long, Procedure, column, detail, optional, required
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.operations.purge import purge


class PurgeFiles(Procedure):
    """Cannot be undone: removes rows, snapshots, tags, branches, consumers and changelogs, and all their files.

    The table itself, its columns and options are kept, with one empty snapshot.
    """

    summary = "Delete all rows of a table and its whole history, including tags and branches."
    example = "CALL sys.purge_files(table => 'db.t', dry_run => true)"

    @dataclass(frozen=True, kw_only=True)
    class Arguments:
        table: str = required(THE_TABLE)
        dry_run: bool | None = optional(DRY_RUN)

    @dataclass(frozen=True)
    class Result:
        result: str = column("always Success")
        removed_snapshots: Long = detail("removed snapshots, including those of branches")
        removed_changelogs: Long = detail("removed changelogs of expired snapshots")
        removed_tags: str | None = detail("the removed tags; null without any")
        removed_branches: str | None = detail("the removed branches; null without any")
        removed_consumers: str | None = detail("the removed consumers; null without any")
        deleted_data_files: Long = detail("data and changelog files deleted")
        deleted_metadata_files: Long = detail("manifests, index files and statistics deleted")
        deleted_bytes: Long = detail("the size of all these files in bytes, as far as known from metadata")
        snapshot_id: Long | None = detail("the remaining snapshot, which is empty")
        seconds: float = detail("duration in seconds")
        note: str | None = detail("why nothing was done")

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        started, dry_run = time.monotonic(), bool(arguments.dry_run)
        done = purge(context.table(arguments.table), dry_run=dry_run)
        files = done.files
        data = len(files.data) + len(files.changelog)
        had_content = done.snapshots or files.count or done.tags or done.branches or done.consumers
        yield self.Result(
            result="Success",
            removed_snapshots=done.snapshots,
            removed_changelogs=done.changelogs,
            removed_tags=", ".join(done.tags) or None,
            removed_branches=", ".join(done.branches) or None,
            removed_consumers=", ".join(done.consumers) or None,
            deleted_data_files=data,
            deleted_metadata_files=files.count - data,
            deleted_bytes=files.bytes,
            snapshot_id=done.snapshot.id if done.snapshot else None,
            seconds=round(time.monotonic() - started, 3),
            note=NOTHING_DONE if dry_run else None if had_content else "the table is empty",
        )
