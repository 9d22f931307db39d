"""``CALL sys.rewrite_file_index``: the file indexes that a table's options ask for, for files that are there."""

from __future__ import annotations

import time
from typing import Any

from paimon_sql.format.metadata.manifest import entries
from paimon_sql.format.schema.types import BigIntType, DoubleType, IntType, string_type
from paimon_sql.procedures.base import TABLE, Context, Procedure, result
from paimon_sql.procedures.partition_choice import WHERE, chosen_partitions
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import filter_partitions, live_files
from paimon_sql.storage.indexes.file_indexes import remade
from paimon_sql.storage.operations import operations


class RewriteFileIndex(Procedure):
    """Data files stay as they are; a file gets the indexes that new files would, and loses those not asked for."""

    name = "rewrite_file_index"
    summary = "Make the file indexes that the options 'file-index.*' ask for, for the files of a table or partitions."
    arguments = (TABLE, WHERE, DRY_RUN)
    results = (
        result("written_partitions", IntType(), "partitions with files whose indexes were made or removed"),
        result("written_indexes", IntType(), "these files"),
    )
    details = (
        result("files", BigIntType(), "files that were looked at"),
        result("bytes", BigIntType(), "their bytes"),
        result("snapshot_id", BigIntType(), "the snapshot made; null if nothing was to do"),
        result("seconds", DoubleType(), "how long it took"),
        result("note", string_type(), "why nothing was to do"),
    )
    example = "CALL sys.rewrite_file_index(table => 'db.t', where => \"dt = '2024-01-01'\")"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        started = time.monotonic()
        table, dry_run = context.table(arguments["table"]), bool(arguments["dry_run"])
        chosen = chosen_partitions(table, None, arguments["where"], context.zone)
        live = filter_partitions(table, live_files(table, table.snapshots.latest()).entries, chosen)
        files = list(entries(live))
        with Transaction(table) as transaction:
            messages = remade(table, files, context.executor, dry_run=dry_run)
            made = None if dry_run else operations.compact(transaction, messages)
        nothing = "the files have the indexes that are asked for"
        return [
            (
                len({m.partition for m in messages}),
                len(messages),
                len(files),
                sum(e.file.file_size for e in files),
                made.id if made else None,
                round(time.monotonic() - started, 3),
                nothing if not messages else NOTHING_DONE if dry_run else None,
            )
        ]
