"""``CALL sys.publish_iceberg``: let Iceberg's readers see a table as it is."""

from __future__ import annotations

from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.table.iceberg import METADATA_ICEBERG_STORAGE
from paimon_sql.format.schema.types import BigIntType, BooleanType, string_type
from paimon_sql.procedures.base import TABLE, Context, Procedure, result
from paimon_sql.procedures.values import DRY_RUN
from paimon_sql.storage.iceberg import is_published, metadata_folder, publish


class PublishIceberg(Procedure):
    """Commits do so by themselves; this is for what a process that died had left undone, and says what is wrong."""

    name = "publish_iceberg"
    summary = "Let Iceberg's readers see a table as it is."
    arguments = (TABLE, DRY_RUN)
    results = (
        result("published", BooleanType(False), "whether anything had to be written"),
        result("snapshot_id", BigIntType(), "the snapshot that readers see; null without one"),
        result("metadata_folder", string_type(), "where Iceberg's metadata stand"),
    )
    example = "CALL sys.publish_iceberg(table => 'db.t')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        table = context.table(arguments["table"])
        if not is_published(table):
            raise InvalidInputError(
                f"{table.name} has no Iceberg metadata.",
                remedy=f"Set '{METADATA_ICEBERG_STORAGE.key}', and name the table itself, not a branch.",
            )
        return [
            (publish(table, dry_run=bool(arguments["dry_run"])), table.snapshots.latest_id(), metadata_folder(table))
        ]
