"""``CALL sys.delete_tag``: delete tags, and the files that only they retain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paimon_sql.procedures.base import THE_TABLE, Context, Procedure
from paimon_sql.procedures.declaration import Long, column, detail, optional, required
from paimon_sql.procedures.tags.create_tag import WHY_NOTHING
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE, names_of
from paimon_sql.storage.maintenance.tags.management import delete_tags


class DeleteTag(Procedure):
    """Where a tag's snapshot has expired, the files go that nobody else needs. Unknown names are passed over."""

    summary = "Delete tags, and the files that only they kept."
    example = "CALL sys.delete_tag(table => 'db.t', tag => 'draft,old')"

    @dataclass(frozen=True, kw_only=True)
    class Arguments:
        table: str = required(THE_TABLE)
        tag: str = required("The tag, or several with commas between.")
        dry_run: bool | None = optional(DRY_RUN)

    @dataclass(frozen=True)
    class Result:
        result: bool = column("always true")
        deleted_tags: Long = detail("how many tags went")
        unknown_tags: str | None = detail("names without a tag; null without any")
        deleted_files: Long = detail("files deleted that only these tags had kept")
        deleted_bytes: Long = detail("their bytes")
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
