"""``CALL sys.drop_global_index``: the files of a global index taken out of the table."""

from __future__ import annotations

import time
from typing import Any

from paimon_sql.format.schema.types import BigIntType, BooleanType, DoubleType, string_type
from paimon_sql.procedures.base import TABLE, Context, Procedure, result
from paimon_sql.procedures.indexes.create_global_index import INDEX_COLUMN, INDEX_TYPE
from paimon_sql.procedures.partition_choice import PARTITIONS, chosen_partitions
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.indexes.drop_global_index import index_files_of
from paimon_sql.storage.indexes.global_index import dropped
from paimon_sql.storage.operations import operations


class DropGlobalIndex(Procedure):
    """The files themselves go when the last snapshot that names them expires."""

    name = "drop_global_index"
    summary = "Drop a global index over a column, of all or of some partitions."
    arguments = (TABLE, INDEX_COLUMN, INDEX_TYPE, PARTITIONS, DRY_RUN)
    results = (
        result("result", BooleanType(), "always true"),
        result("dropped_file_count", BigIntType(), "index files that were dropped, or would be"),
    )
    details = (
        result("bytes", BigIntType(), "their bytes"),
        result("snapshot_id", BigIntType(), "the snapshot made; null if nothing was to do"),
        result("seconds", DoubleType(), "how long it took"),
        result("note", string_type(), "why nothing was to do"),
    )
    example = "CALL sys.drop_global_index(table => 'db.t', index_column => 'name', index_type => 'btree')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        started, dry_run = time.monotonic(), bool(arguments["dry_run"])
        table = context.table(arguments["table"])
        chosen = chosen_partitions(table, arguments["partitions"], None, context.zone)
        entries = index_files_of(table, arguments["index_column"], arguments["index_type"], chosen)
        with Transaction(table) as transaction:
            made = None if dry_run else operations.change_indexes(transaction, dropped(entries))
        return [
            (
                True,
                len(entries),
                sum(e.file.file_size for e in entries),
                made.id if made else None,
                round(time.monotonic() - started, 3),
                "there is no such index" if not entries else NOTHING_DONE if dry_run else None,
            )
        ]
