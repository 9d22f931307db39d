"""``CALL sys.create_tag_from_timestamp``: tag the first snapshot at or after a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.metadata.snapshot import Tag
from paimon_sql.procedures.base import THE_TABLE, Context, Procedure
from paimon_sql.procedures.declaration import Long, column, detail, optional, required
from paimon_sql.procedures.tags.create_tag import (
    RECORDS_KEPT,
    RETAINED,
    SNAPSHOT_KEPT,
    THE_TAG,
    WHY_NOTHING,
    tag_details,
)
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE, duration_of
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.table.time_travel.resolve import first_from_time

NAME_OF_TAG = "the tag's name"
COMMITTED = "when that was committed, in milliseconds since the epoch"
ITS_WATERMARK = "its watermark; the text null without any"


class CreateTagFromTimestamp(Procedure):
    """The snapshot is the first that was committed at or after a time, be it retained or kept by another tag."""

    summary = "Keep under a name the first snapshot that was committed at or after a time."
    example = "CALL sys.create_tag_from_timestamp(table => 'db.t', tag => 'monday', timestamp => 1735516800000)"

    @dataclass(frozen=True, kw_only=True)
    class Arguments:
        table: str = required(THE_TABLE)
        tag: str = required(THE_TAG)
        timestamp: Long | None = optional("The time, in milliseconds since the epoch; it must be given.")
        time_retained: str | None = optional("How long it lives, as '36 h' or '7 d'; for ever by default.")
        dry_run: bool | None = optional(DRY_RUN)

    @dataclass(frozen=True)
    class Result:
        tagName: str = column(NAME_OF_TAG)  # noqa: N815
        snapshot: Long = column(SNAPSHOT_KEPT)
        commit_time: Long = column(COMMITTED)
        watermark: str = column(ITS_WATERMARK)
        record_count: Long | None = detail(RECORDS_KEPT)
        retained: str | None = detail(RETAINED)
        note: str | None = detail(WHY_NOTHING)

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        retained = duration_of(arguments.time_retained, "time_retained")
        table, dry_run = context.table(arguments.table), bool(arguments.dry_run)
        if arguments.timestamp is None:
            raise InvalidInputError("create_tag_from_timestamp needs a timestamp.", remedy="Give milliseconds.")
        snapshot = first_from_time(table, arguments.timestamp)
        tag = create_tag(table, arguments.tag, snapshot.id, retained, dry_run=dry_run)
        yield self.Result(arguments.tag, *snapshot_details(tag), NOTHING_DONE if dry_run else None)


def snapshot_details(tag: Tag) -> tuple[int, int, str, int | None, str | None]:
    """A tag's snapshot id, commit time, watermark, and the record count and retention time of `tag_details`."""
    snapshot, records, retained = tag_details(tag)
    watermark = "null" if tag.snapshot.watermark is None else str(tag.snapshot.watermark)
    return snapshot, tag.snapshot.time_millis, watermark, records, retained
