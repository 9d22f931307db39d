"""``CALL sys.expire_tags``: delete expired tags."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone

from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, Record, column, detail, optional
from paimon_sql.procedures.values import NOTHING_DONE, instant_of
from paimon_sql.storage.maintenance.tags.management import delete_tags, expired_tags


class ExpireTags(Procedure):
    """Deletes tags whose retention has passed, and with older_than all that were created before."""

    summary = "Delete expired tags, and the files that only they use."
    example = "CALL sys.expire_tags(table => 'db.t', older_than => '2024-01-31 08:00:00')"

    class Arguments(OfTable, kw_only=True):
        older_than: str | None = optional(
            "Also delete all tags created before: '2024-01-31 08:00:00' in the session's time zone."
        )

    class Result(Record):
        expired_tags: str = column("the tag's name, one row per tag; or that there is none")
        snapshot_id: Long | None = detail("the snapshot of the tag")
        deleted_files: Long = detail("deleted files that only the tag used")
        deleted_bytes: Long = detail("their size in bytes")
        note: str = detail("why it was deleted")

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        limit = instant_of(arguments.older_than, context.zone)
        table = context.table(arguments.table)
        older_than = None if limit is None else datetime.fromtimestamp(limit / 1000, timezone.utc)
        expired = expired_tags(table, older_than=older_than)
        if not expired:
            note = "no tag has expired" if table.tags.names() else "the table has no tag"
            return [self.Result("No expired tags.", None, 0, 0, note)]
        done = delete_tags(table, [tag.name for tag in expired], dry_run=arguments.dry_run)
        return [
            self.Result(
                expired_tags=tag.name,
                snapshot_id=tag.tag.snapshot.id,
                deleted_files=done.freed[tag.name].count,
                deleted_bytes=done.freed[tag.name].bytes,
                note=f"{NOTHING_DONE}; {tag.reason}" if arguments.dry_run else tag.reason,
            )
            for tag in expired
            if tag.name in done.freed
        ]
