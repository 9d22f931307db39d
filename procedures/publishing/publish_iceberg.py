"""``CALL sys.publish_iceberg``: write the Iceberg metadata of a table."""

from __future__ import annotations

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.table.iceberg import METADATA_ICEBERG_STORAGE
from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, Record, column
from paimon_sql.storage.iceberg import is_published, metadata_folder
from paimon_sql.storage.iceberg.publish import publish


class PublishIceberg(Procedure):
    """Commits do so automatically; this completes what an interrupted process left undone, and reports errors."""

    summary = "Publish the latest snapshot of a table to Iceberg readers."
    example = "CALL sys.publish_iceberg(table => 'db.t')"

    Arguments = OfTable

    class Result(Record):
        published: bool = column("whether metadata was written", nullable=False)
        snapshot_id: Long | None = column("the published snapshot; null without one")
        metadata_folder: str = column("the location of the Iceberg metadata")

    def call(self, context: Context, arguments: OfTable) -> Result:
        table = context.table(arguments.table)
        if not is_published(table):
            raise InvalidInputError(
                f"{table.name} has no Iceberg metadata.",
                remedy=f"Set '{METADATA_ICEBERG_STORAGE.key}', and name the table itself, not a branch.",
            )
        published = publish(table, dry_run=arguments.dry_run)
        return self.Result(published, table.snapshots.latest_id(), metadata_folder(table))
