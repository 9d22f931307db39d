"""``CALL sys.replace_tag``: move a tag to another snapshot."""

from __future__ import annotations

from paimon_sql.procedures.base import Context, Done, Long, Noted, OfTable, Procedure, detail, optional, required
from paimon_sql.procedures.tags.create_tag import RECORDS_KEPT, RETAINED, SNAPSHOT_KEPT, THE_TAG, retention
from paimon_sql.procedures.values import duration_of
from paimon_sql.storage.maintenance.tags.management import replace_tag


class ReplaceTag(Procedure):
    """Files that only the old snapshot used are deleted."""

    summary = "Set an existing tag to another snapshot."
    example = "CALL sys.replace_tag(table => 'db.t', tag => 'golden', snapshot => 12)"

    class Arguments(OfTable, kw_only=True):
        tag: str = required(THE_TAG)
        snapshot: Long | None = optional("The snapshot; the latest by default.")
        time_retained: str | None = optional("How long to retain the tag, as '36 h' or '7 d'; forever by default.")

    class Result(Done, Noted, kw_only=True):
        snapshot_id: Long = detail(SNAPSHOT_KEPT)
        record_count: Long | None = detail(RECORDS_KEPT)
        retained: str | None = detail(RETAINED)
        deleted_files: Long = detail("deleted files that only the tag used")
        deleted_bytes: Long = detail("their size in bytes")

    def call(self, context: Context, arguments: Arguments) -> Result:
        retained = duration_of(arguments.time_retained, "time_retained")
        table = context.table(arguments.table)
        tag, freed = replace_tag(table, arguments.tag, arguments.snapshot, retained, dry_run=arguments.dry_run)
        return self.Result(
            snapshot_id=tag.snapshot.id,
            record_count=tag.snapshot.total_record_count,
            retained=retention(tag),
            deleted_files=freed.count,
            deleted_bytes=freed.bytes,
        )
