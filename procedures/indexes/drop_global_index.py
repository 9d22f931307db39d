"""``CALL sys.drop_global_index``: drop a global index of a column."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, Record, column, detail, optional, required
from paimon_sql.procedures.indexes.create_global_index import THE_COLUMN, THE_TYPE
from paimon_sql.procedures.partition_choice import PARTITIONS, chosen_partitions
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
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
        dry_run: bool | None = optional(DRY_RUN)

    class Result(Record):
        result: bool = column("always true")
        dropped_file_count: Long = column("dropped index files, also in a dry run")
        bytes: Long = detail("their size in bytes")
        snapshot_id: Long | None = detail("the created snapshot; null if nothing was done")
        seconds: float = detail("duration in seconds")
        note: str | None = detail("why nothing was done")

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        dry_run = bool(arguments.dry_run)
        table = context.table(arguments.table)
        chosen = chosen_partitions(table, arguments.partitions, None, context.zone)
        entries = index_files_of(table, arguments.index_column, arguments.index_type, chosen)
        with Transaction(table) as transaction:
            committed = None if dry_run else operations.change_indexes(transaction, drop_messages(entries))
        yield self.Result(
            result=True,
            dropped_file_count=len(entries),
            bytes=sum(e.file.file_size for e in entries),
            snapshot_id=committed.id if committed else None,
            seconds=context.seconds(),
            note="there is no such index" if not entries else NOTHING_DONE if dry_run else None,
        )
