"""``CALL sys.create_tag_from_timestamp``: tag the first snapshot from a time on."""

from __future__ import annotations

from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.metadata.snapshot import Tag
from paimon_sql.format.schema.types import BigIntType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.tags.create_tag import KEPT, NOTE, TAG, TIME_RETAINED, kept
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE, length_of
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.table.time_travel.resolve import first_from_time

FOUND = (
    result("tagName", string_type(), "the tag's name"),
    result("snapshot", BigIntType(), "the snapshot that it keeps"),
    result("commit_time", BigIntType(), "when that was committed, in milliseconds since the epoch"),
    result("watermark", string_type(), "its watermark; the text null without any"),
)
DETAILS = (*KEPT[1:], NOTE)


class CreateTagFromTimestamp(Procedure):
    """The snapshot is the first that was committed at or after a time, be it retained or kept by another tag."""

    name = "create_tag_from_timestamp"
    summary = "Keep under a name the first snapshot that was committed at or after a time."
    arguments = (
        TABLE,
        TAG,
        Argument("timestamp", BigIntType(), "The time, in milliseconds since the epoch; it must be given."),
        TIME_RETAINED,
        DRY_RUN,
    )
    results = FOUND
    details = DETAILS
    example = "CALL sys.create_tag_from_timestamp(table => 'db.t', tag => 'monday', timestamp => 1735516800000)"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        retained = length_of(arguments["time_retained"], "time_retained")
        table, dry_run = context.table(arguments["table"]), bool(arguments["dry_run"])
        if arguments["timestamp"] is None:
            raise InvalidInputError("create_tag_from_timestamp needs a timestamp.", remedy="Give milliseconds.")
        snapshot = first_from_time(table, arguments["timestamp"])
        tag = create_tag(table, arguments["tag"], snapshot.id, retained, dry_run=dry_run)
        return [found_row(arguments["tag"], tag, dry_run=dry_run)]


def found_row(name: str, tag: Tag, *, dry_run: bool) -> tuple[Any, ...]:
    """The row that tells of a tag whose snapshot was looked for."""
    snapshot = tag.snapshot
    watermark = "null" if snapshot.watermark is None else str(snapshot.watermark)
    return name, snapshot.id, snapshot.time_millis, watermark, *kept(tag)[1:], NOTHING_DONE if dry_run else None
