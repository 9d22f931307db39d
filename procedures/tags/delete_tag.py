"""``CALL sys.delete_tag``: delete tags and free what only they kept."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.schema.types import BigIntType, BooleanType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.tags.create_tag import NOTE
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE, names_of
from paimon_sql.storage.maintenance.tags.management import delete_tags


class DeleteTag(Procedure):
    """Where a tag's snapshot has expired, the files go that nobody else needs. Unknown names are passed over."""

    name = "delete_tag"
    summary = "Delete tags, and the files that only they kept."
    arguments = (
        TABLE,
        Argument("tag", string_type(), "The tag, or several with commas between.", required=True),
        DRY_RUN,
    )
    results = (result("result", BooleanType(), "always true"),)
    details = (
        result("deleted_tags", BigIntType(), "how many tags went"),
        result("unknown_tags", string_type(), "names without a tag; null without any"),
        result("deleted_files", BigIntType(), "files deleted that only these tags had kept"),
        result("deleted_bytes", BigIntType(), "their bytes"),
        NOTE,
    )
    example = "CALL sys.delete_tag(table => 'db.t', tag => 'draft,old')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        names = names_of(arguments["tag"], "tag")
        table, dry_run = context.table(arguments["table"]), bool(arguments["dry_run"])
        if len(names) > 1 and table.tags.exists(arguments["tag"]):
            names = [arguments["tag"]]  # a tag whose name holds commas
        done = delete_tags(table, names, dry_run=dry_run)
        unknown = ", ".join(done.unknown) or None
        note = NOTHING_DONE if dry_run else None if done.deleted else "there is no such tag"
        return [(True, len(done.deleted), unknown, done.files.count, done.files.bytes, note)]
