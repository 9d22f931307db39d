"""``CALL sys.purge_files``: empty a table and forget its history."""

from __future__ import annotations

import time
from typing import Any

from paimon_sql.format.schema.types import BigIntType, DoubleType, string_type
from paimon_sql.procedures.base import TABLE, Context, Procedure, result
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.operations.purge import purge


class PurgeFiles(Procedure):
    """There is no way back: rows, snapshots, tags, branches, consumers and changelogs go, and all their files.

    The table itself, its columns and options stay, with one snapshot that holds nothing.
    """

    name = "purge_files"
    summary = "Empty a table and forget its whole history, tags and branches among it."
    arguments = (TABLE, DRY_RUN)
    results = (result("result", string_type(), "always Success"),)
    details = (
        result("removed_snapshots", BigIntType(), "snapshots that went, those of other branches among them"),
        result("removed_changelogs", BigIntType(), "changelogs that had outlived their snapshots and went"),
        result("removed_tags", string_type(), "the tags that went; null without any"),
        result("removed_branches", string_type(), "the branches that went; null without any"),
        result("removed_consumers", string_type(), "the consumers that went; null without any"),
        result("deleted_data_files", BigIntType(), "data and changelog files deleted"),
        result("deleted_metadata_files", BigIntType(), "manifests, index files and statistics deleted"),
        result("deleted_bytes", BigIntType(), "the bytes of all these files, as far as the metadata tells them"),
        result("snapshot_id", BigIntType(), "the snapshot that is left, which holds nothing"),
        result("seconds", DoubleType(), "how long it took"),
        result("note", string_type(), "why nothing was to do"),
    )
    example = "CALL sys.purge_files(table => 'db.t', dry_run => true)"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        started, dry_run = time.monotonic(), bool(arguments["dry_run"])
        done = purge(context.table(arguments["table"]), dry_run=dry_run)
        files = done.files
        data = len(files.data) + len(files.changelog)
        held = done.snapshots or files.count or done.tags or done.branches or done.consumers
        return [
            (
                "Success",
                done.snapshots,
                done.changelogs,
                ", ".join(done.tags) or None,
                ", ".join(done.branches) or None,
                ", ".join(done.consumers) or None,
                data,
                files.count - data,
                files.bytes,
                done.snapshot.id if done.snapshot else None,
                round(time.monotonic() - started, 3),
                NOTHING_DONE if dry_run else None if held else "the table holds nothing",
            )
        ]
