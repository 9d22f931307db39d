"""``CALL sys.create_tag_from_timestamp``: tag the first snapshot at or after a time."""

from __future__ import annotations

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.procedures.base import Context, Long, Noted, OfTable, Procedure, column, detail, optional, required
from paimon_sql.procedures.tags.create_tag import (
    RECORDS_KEPT,
    RETAINED,
    SNAPSHOT_KEPT,
    THE_TAG,
    TIME_RETAINED,
    retention,
)
from paimon_sql.procedures.values import duration_of
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import first_from_time


class CreateTagFromTimestamp(Procedure):
    """Snapshots that are retained only by other tags are considered, too."""

    summary = "Create a tag of the first snapshot that was committed at or after a time."
    example = "CALL sys.create_tag_from_timestamp(table => 'db.t', tag => 'monday', timestamp => 1735516800000)"

    class Arguments(OfTable, kw_only=True):
        tag: str = required(THE_TAG)
        timestamp: Long | None = optional("The time, in milliseconds since the epoch; mandatory.")
        time_retained: str | None = optional(TIME_RETAINED)

    class Result(Noted, kw_only=True):
        tagName: str = column("the tag's name")  # noqa: N815
        snapshot: Long = column(SNAPSHOT_KEPT)
        commit_time: Long = column("when the snapshot was committed, in milliseconds since the epoch")
        watermark: str = column("its watermark; the string null without any")
        record_count: Long | None = detail(RECORDS_KEPT)
        retained: str | None = detail(RETAINED)

    def call(self, context: Context, arguments: Arguments) -> Result:
        retained = duration_of(arguments.time_retained, "time_retained")
        table = context.table(arguments.table)
        tag = create_tag(table, arguments.tag, self.first(table, arguments).id, retained, dry_run=arguments.dry_run)
        return self.Result(
            tagName=arguments.tag,
            snapshot=tag.snapshot.id,
            commit_time=tag.snapshot.time_millis,
            watermark="null" if tag.snapshot.watermark is None else str(tag.snapshot.watermark),
            record_count=tag.snapshot.total_record_count,
            retained=retention(tag),
        )

    def first(self, table: Table, arguments: OfTable) -> Snapshot:
        """The snapshot to tag."""
        assert isinstance(arguments, CreateTagFromTimestamp.Arguments)
        if arguments.timestamp is None:
            raise InvalidInputError("create_tag_from_timestamp needs a timestamp.", remedy="Specify milliseconds.")
        return first_from_time(table, arguments.timestamp)
