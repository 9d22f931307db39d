"""``CALL sys.rename_tag``: rename a tag."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.procedures.base import Context, OfTable, Procedure, optional, required
from paimon_sql.procedures.tags.create_tag import THE_TAG, CreateTag, tag_record
from paimon_sql.procedures.values import DRY_RUN
from paimon_sql.storage.maintenance.tags.management import rename_tag


class RenameTag(Procedure):
    """The tag keeps its snapshot; the new name must not exist."""

    summary = "Rename a tag."
    example = "CALL sys.rename_tag(table => 'db.t', tag => 'draft', target_tag => 'release')"

    class Arguments(OfTable, kw_only=True):
        tag: str = required(THE_TAG)
        target_tag: str = required("Its new name.")
        dry_run: bool | None = optional(DRY_RUN)

    Result = CreateTag.Result

    def call(self, context: Context, arguments: Arguments) -> Iterable[CreateTag.Result]:
        table, dry_run = context.table(arguments.table), bool(arguments.dry_run)
        tag = rename_tag(table, arguments.tag, arguments.target_tag, dry_run=dry_run)
        yield tag_record(tag, dry_run=dry_run)
