"""``CALL sys.create_tag``: tag a snapshot."""

from __future__ import annotations

from typing import TypeVar

from paimon_sql.format.metadata.snapshot import Tag
from paimon_sql.format.text.durations import format_duration
from paimon_sql.procedures.base import Context, Done, Long, Noted, OfTable, Procedure, detail, optional, required
from paimon_sql.procedures.values import duration_of
from paimon_sql.storage.maintenance.tags.management import create_tag

THE_TAG = "The tag's name."
SNAPSHOT_KEPT = "the snapshot of the tag"
RECORDS_KEPT = "the records of that snapshot, before merging"
TIME_RETAINED = "How long to retain the tag, as '36 h' or '7 d'; forever by default."
RETAINED = "how long the tag is retained; null for forever"

R = TypeVar("R", bound="CreateTag.Result")


class CreateTag(Procedure):
    """The snapshot can be read by the tag's name until the tag is deleted or expires."""

    summary = "Create a tag, which retains a snapshot."
    example = "CALL sys.create_tag(table => 'db.t', tag => 'before_migration', time_retained => '7 d')"

    class Arguments(OfTable, kw_only=True):
        tag: str = required(THE_TAG)
        snapshot: Long | None = optional("The snapshot; the latest by default.")
        time_retained: str | None = optional(TIME_RETAINED)

    class Result(Done, Noted, kw_only=True):
        snapshot_id: Long | None = detail(SNAPSHOT_KEPT)
        record_count: Long | None = detail(RECORDS_KEPT)
        retained: str | None = detail(RETAINED)

        @classmethod
        def of(cls: type[R], tag: Tag) -> R:
            """The result row for a tag that was created, renamed or replaced, also for a dry run."""
            records = tag.snapshot.total_record_count
            return cls(snapshot_id=tag.snapshot.id, record_count=records, retained=retention(tag))

    def call(self, context: Context, arguments: Arguments) -> Result:
        retained = duration_of(arguments.time_retained, "time_retained")
        table = context.table(arguments.table)
        tag = create_tag(table, arguments.tag, arguments.snapshot, retained, dry_run=arguments.dry_run)
        return self.Result.of(tag)


def retention(tag: Tag) -> str | None:
    """The retention time of a tag, as ``7 d``; None for forever."""
    return None if tag.time_retained is None else format_duration(tag.time_retained)
