"""``CALL sys.remove_unexisting_files``: remove missing data files from the metadata of a table."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.format.schema.records import Int, Long, Record, column
from paimon_sql.procedures.base import DRY_RUN, Context, Procedure, TheTable, detail, optional
from paimon_sql.procedures.values import positive
from paimon_sql.storage.repair.lost_files import find_lost, remove_lost


class RemoveUnexistingFiles(Procedure):
    """For tables that cannot be read because data files were deleted manually.

    The rows of these files are lost. In a primary-key table, older rows of the same keys may become visible again.
    """

    summary = "Remove missing data files from the metadata of a table, so that it can be read."
    example = "CALL sys.remove_unexisting_files(table => 'db.t', dry_run => true)"

    class Arguments(TheTable, kw_only=True):
        dry_run: bool = optional(DRY_RUN, default=False)
        parallelism: Int | None = optional("The number of tasks of the search.")

    class Result(Record):
        fileName: str = column("the path of a missing file, one row per file", nullable=False)  # noqa: N815
        partition: str | None = detail("its partition, as the name of its directory; null without partitions")
        bucket: Int = detail("its bucket")
        level: Int = detail("its level")
        record_count: Long = detail("number of its records")
        file_size_in_bytes: Long = detail("its size in bytes")
        snapshot_id: Long | None = detail("the created snapshot without it; null in a dry run")

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        parallelism = positive(arguments.parallelism)
        table = context.table(arguments.table)
        snapshot = table.snapshots.latest()
        if snapshot is None:
            return []
        lost = find_lost(table, snapshot, context.executor, parallelism)
        committed = remove_lost(table, snapshot, lost) if lost and not arguments.dry_run else None
        return [
            self.Result(
                fileName=file.path,
                partition=table.locations.partition(file.entry.partition) or None,
                bucket=file.entry.bucket,
                level=file.entry.file.level,
                record_count=file.entry.file.row_count,
                file_size_in_bytes=file.entry.file.file_size,
                snapshot_id=committed.id if committed else None,
            )
            for file in lost
        ]
