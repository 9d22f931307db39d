"""``CALL sys.create_tag``: tag a snapshot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paimon_sql.format.metadata.snapshot import Tag
from paimon_sql.format.text.durations import format_duration
from paimon_sql.procedures.base import THE_TABLE, Context, Procedure
from paimon_sql.procedures.declaration import Long, column, detail, optional, required
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE, duration_of
from paimon_sql.storage.maintenance.tags.management import create_tag

THE_TAG = "The tag's name."
SNAPSHOT_KEPT = "the snapshot that it keeps"
RECORDS_KEPT = "the records of that snapshot, before merging"
RETAINED = "how long the tag lives; null means for ever"
WHY_NOTHING = "why nothing was done"


class CreateTag(Procedure):
    """The snapshot can be read by the tag's name until the tag is deleted or its time is over."""

    summary = "Keep a snapshot under a name, so that it does not expire."
    example = "CALL sys.create_tag(table => 'db.t', tag => 'before_migration', time_retained => '7 d')"

    @dataclass(frozen=True, kw_only=True)
    class Arguments:
        table: str = required(THE_TABLE)
        tag: str = required(THE_TAG)
        snapshot: Long | None = optional("The snapshot; the newest by default.")
        time_retained: str | None = optional("How long it lives, as '36 h' or '7 d'; for ever by default.")
        dry_run: bool | None = optional(DRY_RUN)

    @dataclass(frozen=True)
    class Result:
        result: bool = column("always true")
        snapshot_id: Long | None = detail(SNAPSHOT_KEPT)
        record_count: Long | None = detail(RECORDS_KEPT)
        retained: str | None = detail(RETAINED)
        note: str | None = detail(WHY_NOTHING)

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        retained = duration_of(arguments.time_retained, "time_retained")
        table, dry_run = context.table(arguments.table), bool(arguments.dry_run)
        tag = create_tag(table, arguments.tag, arguments.snapshot, retained, dry_run=dry_run)
        yield self.Result(True, *tag_details(tag), NOTHING_DONE if dry_run else None)


def tag_details(tag: Tag) -> tuple[int, int | None, str | None]:
    """The snapshot id of a tag, its record count, and the tag's retention time."""
    length = tag.time_retained
    return tag.snapshot.id, tag.snapshot.total_record_count, None if length is None else format_duration(length)
