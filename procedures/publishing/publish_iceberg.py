"""``CALL sys.publish_iceberg``: write the Iceberg metadata of a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.table.iceberg import METADATA_ICEBERG_STORAGE
from paimon_sql.procedures.base import THE_TABLE, Context, Procedure
from paimon_sql.procedures.declaration import Long, column, optional, required
from paimon_sql.procedures.values import DRY_RUN
from paimon_sql.storage.iceberg import is_published, metadata_folder, publish


class PublishIceberg(Procedure):
    """Commits do so by themselves; this is for what a process that died had left undone, and says what is wrong."""

    summary = "Let Iceberg's readers see a table as it is."
    example = "CALL sys.publish_iceberg(table => 'db.t')"

    @dataclass(frozen=True, kw_only=True)
    class Arguments:
        table: str = required(THE_TABLE)
        dry_run: bool | None = optional(DRY_RUN)

    @dataclass(frozen=True)
    class Result:
        published: bool = column("whether anything had to be written", nullable=False)
        snapshot_id: Long | None = column("the snapshot that readers see; null without one")
        metadata_folder: str = column("where Iceberg's metadata stand")

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        table = context.table(arguments.table)
        if not is_published(table):
            raise InvalidInputError(
                f"{table.name} has no Iceberg metadata.",
                remedy=f"Set '{METADATA_ICEBERG_STORAGE.key}', and name the table itself, not a branch.",
            )
        published = publish(table, dry_run=bool(arguments.dry_run))
        yield self.Result(published, table.snapshots.latest_id(), metadata_folder(table))
