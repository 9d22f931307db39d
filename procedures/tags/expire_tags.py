"""``CALL sys.expire_tags``: delete the tags whose time is over."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from paimon_sql.format.schema.types import BigIntType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE, instant_of
from paimon_sql.storage.maintenance.tags.expiration import expired_tags
from paimon_sql.storage.maintenance.tags.management import delete_tags


class ExpireTags(Procedure):
    """Tags go that have outlived their own time, and with older_than all that were made before it."""

    name = "expire_tags"
    summary = "Delete the tags whose time is over, and the files that only they kept."
    arguments = (
        TABLE,
        Argument(
            "older_than",
            string_type(),
            "Tags made before it go too, however long they may live: '2024-01-31 08:00:00' of the session's clock.",
        ),
        DRY_RUN,
    )
    results = (result("expired_tags", string_type(), "the tag's name, one row a tag; or that there is none"),)
    details = (
        result("snapshot_id", BigIntType(), "the snapshot that it kept"),
        result("deleted_files", BigIntType(), "files deleted that only the tag had kept"),
        result("deleted_bytes", BigIntType(), "their bytes"),
        result("note", string_type(), "why it went"),
    )
    example = "CALL sys.expire_tags(table => 'db.t', older_than => '2024-01-31 08:00:00')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        dry_run, limit = bool(arguments["dry_run"]), instant_of(arguments["older_than"], context.zone)
        table = context.table(arguments["table"])
        older_than = None if limit is None else datetime.fromtimestamp(limit / 1000, timezone.utc)
        over = expired_tags(table, older_than=older_than)
        if not over:
            left = "no tag has outlived its time" if table.tags.names() else "the table has no tag"
            return [("No expired tags.", None, 0, 0, left)]
        done = delete_tags(table, [tag.name for tag in over], dry_run=dry_run)
        return [
            (
                tag.name,
                tag.tag.snapshot.id,
                done.freed[tag.name].count,
                done.freed[tag.name].bytes,
                f"{NOTHING_DONE}; {tag.reason}" if dry_run else tag.reason,
            )
            for tag in over
            if tag.name in done.freed
        ]
