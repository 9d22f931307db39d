"""``CALL sys.create_tag``: keep a snapshot under a name."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.metadata.snapshot import Tag
from paimon_sql.format.schema.types import BigIntType, BooleanType, string_type
from paimon_sql.format.text.durations import format_duration
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE, length_of
from paimon_sql.storage.maintenance.tags.management import create_tag

TAG = Argument("tag", string_type(), "The tag's name.", required=True)
SNAPSHOT = Argument("snapshot", BigIntType(), "The snapshot; the newest by default.")
TIME_RETAINED = Argument("time_retained", string_type(), "How long it lives, as '36 h' or '7 d'; for ever by default.")
KEPT = (
    result("snapshot_id", BigIntType(), "the snapshot that it keeps"),
    result("record_count", BigIntType(), "the records of that snapshot, before merging"),
    result("retained", string_type(), "how long the tag lives; null means for ever"),
)
NOTE = result("note", string_type(), "why nothing was done")


class CreateTag(Procedure):
    """The snapshot can be read by the tag's name until the tag is deleted or its time is over."""

    name = "create_tag"
    summary = "Keep a snapshot under a name, so that it does not expire."
    arguments = (TABLE, TAG, SNAPSHOT, TIME_RETAINED, DRY_RUN)
    results = (result("result", BooleanType(), "always true"),)
    details = (*KEPT, NOTE)
    example = "CALL sys.create_tag(table => 'db.t', tag => 'before_migration', time_retained => '7 d')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        retained = length_of(arguments["time_retained"], "time_retained")
        table, dry_run = context.table(arguments["table"]), bool(arguments["dry_run"])
        tag = create_tag(table, arguments["tag"], arguments["snapshot"], retained, dry_run=dry_run)
        return [(True, *kept(tag), NOTHING_DONE if dry_run else None)]


def kept(tag: Tag) -> tuple[int, int | None, str | None]:
    """The columns that say what a tag keeps."""
    length = tag.time_retained
    return tag.snapshot.id, tag.snapshot.total_record_count, None if length is None else format_duration(length)
