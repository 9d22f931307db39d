"""``CALL sys.rename_tag``: rename a tag."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.maintenance.tags.management import rename_tag


class RenameTag(Procedure):
    """The tag keeps what it kept; its new name must be free."""

    summary = "Give a tag another name."
    example = "CALL sys.rename_tag(table => 'db.t', tag => 'draft', target_tag => 'release')"

    @dataclass(frozen=True, kw_only=True)
    class Arguments:
        table: str = required(THE_TABLE)
        tag: str = required(THE_TAG)
        target_tag: str = required("Its new name.")
        dry_run: bool | None = optional(DRY_RUN)

    @dataclass(frozen=True)
    class Result:
        result: bool = column("always true")
        snapshot_id: Long = detail(SNAPSHOT_KEPT)
        record_count: Long | None = detail(RECORDS_KEPT)
        retained: str | None = detail(RETAINED)
        note: str | None = detail(WHY_NOTHING)

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        table, dry_run = context.table(arguments.table), bool(arguments.dry_run)
        tag = rename_tag(table, arguments.tag, arguments.target_tag, dry_run=dry_run)
        yield self.Result(True, *tag_details(tag), NOTHING_DONE if dry_run else None)
