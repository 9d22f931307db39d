"""``CALL sys.refresh_object_table``: list the folder of an object table anew."""

from __future__ import annotations

import time
from typing import Any

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.options.table.table import TYPE
from paimon_sql.format.schema.types import BigIntType, DoubleType, string_type
from paimon_sql.procedures.base import TABLE, Context, Procedure, result
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.file_io import file_io_of
from paimon_sql.storage.object_tables import object_location, refresh


class RefreshObjectTable(Procedure):
    """What the folder holds at the end of the call is a snapshot of the table, unless it is what the table knew."""

    name = "refresh_object_table"
    summary = "List the files of an object table's folder anew."
    arguments = (TABLE, DRY_RUN)
    results = (result("file_number", BigIntType(), "how many files there are"),)
    details = (
        result("added_files", BigIntType(), "files that the table did not know"),
        result("removed_files", BigIntType(), "files that are gone"),
        result("changed_files", BigIntType(), "files of another length or time than the table knew"),
        result("bytes", BigIntType(), "the size of all files"),
        result("location", string_type(), "the folder"),
        result("snapshot_id", BigIntType(), "the snapshot made; null if nothing changed"),
        result("seconds", DoubleType(), "how long it took"),
        result("note", string_type(), "why there is no new snapshot"),
    )
    example = "CALL sys.refresh_object_table(table => 'db.t')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        started, dry_run = time.monotonic(), bool(arguments["dry_run"])
        table = context.table(arguments["table"])
        if table.options.get(TYPE) != "object-table":
            raise UnsupportedError(
                f"{table.name} is no object table, so that it lists no folder.",
                remedy="CREATE TABLE .. WITH ('type' = 'object-table', 'object-location' = '..') makes one.",
            )
        location = object_location(table)
        file_io = file_io_of(location, context.catalog.options)
        threads = 16 if file_io.is_object_store(location) else 4
        found = refresh(table, file_io, threads, dry_run=dry_run)
        note = NOTHING_DONE if dry_run else "nothing changed" if found.is_same else None
        return [
            (
                found.objects,
                found.added,
                found.removed,
                found.changed,
                found.bytes,
                location,
                found.snapshot.id if found.snapshot else None,
                round(time.monotonic() - started, 3),
                note,
            )
        ]
