"""``CALL sys.delete_tag``: delete tags, and the files that only they retain."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, Record, column, detail, optional, required
from paimon_sql.procedures.tags.create_tag import WHY_NOTHING
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE, names_of
from paimon_sql.storage.maintenance.tags.management import delete_tags


class DeleteTag(Procedure):
    """If a tag's snapshot has expired, the files that only it uses are deleted. Unknown names are ignored."""

    summary = "Delete tags, and the files that only they use."
    example = "CALL sys.delete_tag(table => 'db.t', tag => 'draft,old')"

    class Arguments(OfTable, kw_only=True):
        tag: str = required("The tag, or several separated by commas.")
        dry_run: bool | None = optional(DRY_RUN)

    class Result(Record):
        result: bool = column("always true")
        deleted_tags: Long = detail("number of deleted tags")
        unknown_tags: str | None = detail("names without a tag; null without any")
        deleted_files: Long = detail("deleted files that only these tags used")
        deleted_bytes: Long = detail("their size in bytes")
        note: str | None = detail(WHY_NOTHING)

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        names = names_of(arguments.tag, "tag")
        table, dry_run = context.table(arguments.table), bool(arguments.dry_run)
        if len(names) > 1 and table.tags.exists(arguments.tag):
            names = [arguments.tag]  # a tag whose name holds commas
        done = delete_tags(table, names, dry_run=dry_run)
        yield self.Result(
            result=True,
            deleted_tags=len(done.deleted),
            unknown_tags=", ".join(done.unknown) or None,
            deleted_files=done.files.count,
            deleted_bytes=done.files.bytes,
            note=NOTHING_DONE if dry_run else None if done.deleted else "there is no such tag",
        )
