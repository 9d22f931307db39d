"""``CALL sys.remove_unexisting_files``: take data files that are not there any more out of a table."""

from __future__ import annotations

from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.types import BigIntType, IntType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.values import DRY_RUN
from paimon_sql.storage.repair.lost_files import find_lost, remove_lost


class RemoveUnexistingFiles(Procedure):
    """Somebody deleted data files by hand, and the table cannot be read: this lets the table forget them.

    Their rows are lost. In a table with a primary key older rows of the same keys may show again.
    """

    name = "remove_unexisting_files"
    summary = "Take data files that are not there any more out of a table, so that it can be read."
    arguments = (
        TABLE,
        DRY_RUN,
        Argument("parallelism", IntType(), "Into how many tasks the search is cut."),
    )
    results = (result("fileName", string_type(False), "the path of a file that is missing; a row each"),)
    details = (
        result("partition", string_type(), "its partition, as its folder is called; null without partitions"),
        result("bucket", IntType(), "its bucket"),
        result("level", IntType(), "its level"),
        result("record_count", BigIntType(), "the records that it held"),
        result("file_size_in_bytes", BigIntType(), "its bytes"),
        result("snapshot_id", BigIntType(), "the snapshot made, which is without it; null in a dry run"),
    )
    example = "CALL sys.remove_unexisting_files(table => 'db.t', dry_run => true)"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        parallelism = arguments["parallelism"]
        if parallelism is not None and parallelism < 1:
            raise InvalidInputError(f"parallelism cannot be {parallelism}.", remedy="It is a number above 0.")
        table = context.table(arguments["table"])
        snapshot = table.snapshots.latest()
        if snapshot is None:
            return []
        lost = find_lost(table, snapshot, context.executor, parallelism)
        made = remove_lost(table, snapshot, lost) if lost and not arguments["dry_run"] else None
        return [
            (
                file.path,
                table.locations.partition(file.entry.partition) or None,
                file.entry.bucket,
                file.entry.file.level,
                file.entry.file.row_count,
                file.entry.file.file_size,
                made.id if made else None,
            )
            for file in lost
        ]
