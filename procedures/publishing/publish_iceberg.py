"""``CALL sys.publish_iceberg``: write the Iceberg metadata of a table."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.table.iceberg import METADATA_ICEBERG_STORAGE
from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, Record, column, optional
from paimon_sql.procedures.values import DRY_RUN
from paimon_sql.storage.iceberg import is_published, metadata_folder, publish


class PublishIceberg(Procedure):
    """Commits do so automatically; this completes what an interrupted process left undone, and reports errors."""

    summary = "Publish the latest snapshot of a table to Iceberg readers."
    example = "CALL sys.publish_iceberg(table => 'db.t')"

    class Arguments(OfTable, kw_only=True):
        dry_run: bool | None = optional(DRY_RUN)

    class Result(Record):
        published: bool = column("whether metadata was written", nullable=False)
        snapshot_id: Long | None = column("the published snapshot; null without one")
        metadata_folder: str = column("the location of the Iceberg metadata")

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        table = context.table(arguments.table)
        if not is_published(table):
            raise InvalidInputError(
                f"{table.name} has no Iceberg metadata.",
                remedy=f"Set '{METADATA_ICEBERG_STORAGE.key}', and name the table itself, not a branch.",
            )
        published = publish(table, dry_run=bool(arguments.dry_run))
        yield self.Result(published, table.snapshots.latest_id(), metadata_folder(table))
