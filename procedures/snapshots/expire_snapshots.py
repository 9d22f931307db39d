"""``CALL sys.expire_snapshots``: let old snapshots go, and the files that only they needed."""

from __future__ import annotations

import time
from typing import Any

from paimon_sql.format.schema.types import BigIntType, DoubleType, IntType, string_type
from paimon_sql.format.text.instants import present_millis
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.retention import MAX_DELETES, OLDER_THAN, asked
from paimon_sql.procedures.values import DRY_RUN, OPTIONS, options_of
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.retention.policy import retention_of


class ExpireSnapshots(Procedure):
    """Snapshots go that are over the maximum, or over the minimum and older than the limit.

    What is left out comes from the table. Tags, branches and consumers hold on to what they need.
    """

    name = "expire_snapshots"
    summary = "Let old snapshots go, and the files that only they needed."
    arguments = (
        TABLE,
        Argument("retain_max", IntType(), "How many snapshots stay at most; not less than retain_min."),
        Argument("retain_min", IntType(), "How many stay at least."),
        OLDER_THAN,
        MAX_DELETES,
        OPTIONS,
        DRY_RUN,
    )
    results = (result("deleted_snapshots_count", IntType(False), "how many snapshots went"),)
    details = (
        result("first_expired_snapshot", BigIntType(), "the first of them"),
        result("last_expired_snapshot", BigIntType(), "the last of them"),
        result("deleted_data_files", BigIntType(), "data files deleted, with their extra files"),
        result("deleted_changelog_files", BigIntType(), "changelog files deleted"),
        result("deleted_manifests", BigIntType(), "manifests and manifest lists deleted"),
        result("deleted_index_files", BigIntType(), "index and statistics files deleted"),
        result("deleted_bytes", BigIntType(), "the bytes of all these files, as far as the metadata tells them"),
        result("expired_changelogs", BigIntType(), "changelogs that had outlived their snapshots and went"),
        result("earliest_snapshot", BigIntType(), "the first snapshot that is left"),
        result("latest_snapshot", BigIntType(), "the last one"),
        result("seconds", DoubleType(), "how long it took"),
        result("note", string_type(), "why no more snapshots went"),
    )
    example = "CALL sys.expire_snapshots(table => 'db.t', retain_max => 20, retain_min => 10)"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        started, now = time.monotonic(), present_millis()
        table = context.table(arguments["table"]).with_options(options_of(arguments["options"]))
        retention = asked(table.options, now, arguments, context.zone, retention_of)
        dry_run = bool(arguments["dry_run"])
        done = expire_snapshots(table, retention, dry_run=dry_run, now_millis=now)
        files, note = done.files, f"snapshot {done.earliest} stays: {done.reason}" if done.earliest else done.reason
        return [
            (
                len(done.snapshots),
                done.snapshots[0] if done.snapshots else None,
                done.snapshots[-1] if done.snapshots else None,
                files.data,
                files.changelog,
                files.manifests + files.lists,
                files.indexes + files.statistics,
                files.bytes,
                done.changelogs,
                done.earliest,
                done.latest,
                round(time.monotonic() - started, 3),
                f"dry run, nothing was deleted; {note}" if dry_run else note,
            )
        ]
