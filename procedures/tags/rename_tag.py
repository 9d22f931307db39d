"""``CALL sys.rename_tag``: rename a tag."""

from __future__ import annotations

from paimon_sql.procedures.base import Context, OfTable, Procedure, required
from paimon_sql.procedures.tags.create_tag import THE_TAG, CreateTag
from paimon_sql.storage.maintenance.tags.management import rename_tag


class RenameTag(Procedure):
    """The tag keeps its snapshot; the new name must not exist."""

    summary = "Rename a tag."
    example = "CALL sys.rename_tag(table => 'db.t', tag => 'draft', target_tag => 'release')"

    class Arguments(OfTable, kw_only=True):
        tag: str = required(THE_TAG)
        target_tag: str = required("Its new name.")

    Result = CreateTag.Result

    def call(self, context: Context, arguments: Arguments) -> CreateTag.Result:
        table = context.table(arguments.table)
        return self.Result.of(rename_tag(table, arguments.tag, arguments.target_tag, dry_run=arguments.dry_run))
