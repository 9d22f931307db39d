"""``CALL sys.drop_global_index``: drop a global index of a column."""

from __future__ import annotations

from paimon_sql.format.schema.records import Long, column
from paimon_sql.procedures.base import Committed, Context, Done, OfTable, Procedure, detail, optional, required
from paimon_sql.procedures.indexes.create_global_index import THE_COLUMN, THE_TYPE
from paimon_sql.procedures.partition_choice import PARTITIONS, chosen_partitions
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.indexes.drop_global_index import index_files_of
from paimon_sql.storage.indexes.global_index import drop_messages
from paimon_sql.storage.operations import operations


class DropGlobalIndex(Procedure):
    """The files themselves are deleted when the last snapshot that refers to them expires."""

    summary = "Drop a global index over a column, of all or of some partitions."
    example = "CALL sys.drop_global_index(table => 'db.t', index_column => 'name', index_type => 'btree')"

    class Arguments(OfTable, kw_only=True):
        index_column: str = required(THE_COLUMN)
        index_type: str = required(THE_TYPE)
        partitions: str | None = optional(PARTITIONS)

    class Result(Done, Committed, kw_only=True):
        dropped_file_count: Long = column("dropped index files, also in a dry run")
        bytes: Long = detail("their size in bytes")

    def call(self, context: Context, arguments: Arguments) -> Result:
        table = context.table(arguments.table)
        chosen = chosen_partitions(table, arguments.partitions, None, context.zone)
        entries = index_files_of(table, arguments.index_column, arguments.index_type, chosen)
        with Transaction(table) as transaction:
            committed = None if arguments.dry_run else operations.change_indexes(transaction, drop_messages(entries))
        return self.Result(
            dropped_file_count=len(entries),
            bytes=sum(e.file.file_size for e in entries),
            snapshot_id=committed.id if committed else None,
            note=None if entries else "there is no such index",
        )
