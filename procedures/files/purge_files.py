"""``CALL sys.purge_files``: remove the rows and the whole history of a table."""

from __future__ import annotations

from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, Timed, column, detail
from paimon_sql.storage.operations.purge import purge


class PurgeFiles(Procedure):
    """Cannot be undone: removes rows, snapshots, tags, branches, consumers and changelogs, and all their files.

    The table itself, its columns and options are kept, with one empty snapshot.
    """

    summary = "Delete all rows of a table and its whole history, including tags and branches."
    example = "CALL sys.purge_files(table => 'db.t', dry_run => true)"

    Arguments = OfTable

    class Result(Timed, kw_only=True):
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

    def call(self, context: Context, arguments: OfTable) -> Result:
        done = purge(context.table(arguments.table), dry_run=arguments.dry_run)
        files = done.files
        data = len(files.data) + len(files.changelog)
        had_content = done.snapshots or files.count or done.tags or done.branches or done.consumers
        return self.Result(
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
            note=None if arguments.dry_run or had_content else "the table is empty",
        )
