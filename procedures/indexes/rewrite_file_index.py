"""``CALL sys.rewrite_file_index``: build the file indexes of a table's options for existing files."""

from __future__ import annotations

from paimon_sql.format.metadata.manifest import entries
from paimon_sql.procedures.base import Committed, Context, Int, Long, OfTable, Procedure, column, detail, optional
from paimon_sql.procedures.partition_choice import WHERE, chosen_partitions
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import filter_partitions, live_files
from paimon_sql.storage.indexes.file_indexes import rebuild_file_indexes
from paimon_sql.storage.operations import operations


class RewriteFileIndex(Procedure):
    """Data files are unchanged; indexes that the options no longer request are removed."""

    summary = "Build the file indexes of the options 'file-index.*' for the files of a table or partitions."
    example = "CALL sys.rewrite_file_index(table => 'db.t', where => \"dt = '2024-01-01'\")"

    class Arguments(OfTable, kw_only=True):
        where: str | None = optional(WHERE)

    class Result(Committed, kw_only=True):
        written_partitions: Int = column("partitions with changed file indexes")
        written_indexes: Int = column("files with changed file indexes")
        files: Long = detail("checked files")
        bytes: Long = detail("their size in bytes")

    def call(self, context: Context, arguments: Arguments) -> Result:
        table = context.table(arguments.table)
        chosen = chosen_partitions(table, None, arguments.where, context.zone)
        live = filter_partitions(table, live_files(table, table.snapshots.latest()).entries, chosen)
        files = list(entries(live))
        with Transaction(table) as transaction:
            messages = rebuild_file_indexes(table, files, context.executor, dry_run=arguments.dry_run)
            committed = None if arguments.dry_run else operations.compact(transaction, messages)
        return self.Result(
            written_partitions=len({m.partition for m in messages}),
            written_indexes=len(messages),
            files=len(files),
            bytes=sum(e.file.file_size for e in files),
            snapshot_id=committed.id if committed else None,
            note=None if messages else "the file indexes are up to date",
        )
