"""``CALL sys.delete_tag``: delete tags, and the files that only they retain."""

from __future__ import annotations

from paimon_sql.procedures.base import Context, Done, Long, Noted, OfTable, Procedure, detail, required
from paimon_sql.procedures.values import names_of
from paimon_sql.storage.maintenance.tags.management import delete_tags


class DeleteTag(Procedure):
    """If a tag's snapshot has expired, the files that only it uses are deleted. Unknown names are ignored."""

    summary = "Delete tags, and the files that only they use."
    example = "CALL sys.delete_tag(table => 'db.t', tag => 'draft,old')"

    class Arguments(OfTable, kw_only=True):
        tag: str = required("The tag, or several separated by commas.")

    class Result(Done, Noted, kw_only=True):
        deleted_tags: Long = detail("number of deleted tags")
        unknown_tags: str | None = detail("names without a tag; null without any")
        deleted_files: Long = detail("deleted files that only these tags used")
        deleted_bytes: Long = detail("their size in bytes")

    def call(self, context: Context, arguments: Arguments) -> Result:
        table = context.table(arguments.table)
        names = names_of(arguments.tag, "tag", table.tags.exists)
        done = delete_tags(table, names, dry_run=arguments.dry_run)
        return self.Result(
            deleted_tags=len(done.deleted),
            unknown_tags=", ".join(done.unknown) or None,
            deleted_files=done.files.count,
            deleted_bytes=done.files.bytes,
            note=None if arguments.dry_run or done.deleted else "there is no such tag",
        )
