"""``CALL sys.remove_unexisting_files``: remove missing data files from the metadata of a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paimon_sql.errors import InvalidInputError
from paimon_sql.procedures.base import THE_TABLE, Context, Procedure
from paimon_sql.procedures.declaration import Int, Long, column, detail, optional, required
from paimon_sql.procedures.values import DRY_RUN
from paimon_sql.storage.repair.lost_files import find_lost, remove_lost


class RemoveUnexistingFiles(Procedure):
    """Somebody deleted data files by hand, and the table cannot be read: this lets the table forget them.

    Their rows are lost. In a table with a primary key older rows of the same keys may show again.
    """

    summary = "Take data files that are not there any more out of a table, so that it can be read."
    example = "CALL sys.remove_unexisting_files(table => 'db.t', dry_run => true)"

    @dataclass(frozen=True, kw_only=True)
    class Arguments:
        table: str = required(THE_TABLE)
        dry_run: bool | None = optional(DRY_RUN)
        parallelism: Int | None = optional("Into how many tasks the search is cut.")

    @dataclass(frozen=True)
    class Result:
        fileName: str = column("the path of a file that is missing; a row each", nullable=False)  # noqa: N815
        partition: str | None = detail("its partition, as its folder is called; null without partitions")
        bucket: Int = detail("its bucket")
        level: Int = detail("its level")
        record_count: Long = detail("the records that it held")
        file_size_in_bytes: Long = detail("its bytes")
        snapshot_id: Long | None = detail("the snapshot made, which is without it; null in a dry run")

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        parallelism = arguments.parallelism
        if parallelism is not None and parallelism < 1:
            raise InvalidInputError(f"parallelism cannot be {parallelism}.", remedy="It is a number above 0.")
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
