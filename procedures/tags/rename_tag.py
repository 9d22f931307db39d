"""``CALL sys.rename_tag``: give a tag another name."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.schema.types import BooleanType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.tags.create_tag import KEPT, NOTE, TAG, kept
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.maintenance.tags.management import rename_tag


class RenameTag(Procedure):
    """The tag keeps what it kept; its new name must be free."""

    name = "rename_tag"
    summary = "Give a tag another name."
    arguments = (TABLE, TAG, Argument("target_tag", string_type(), "Its new name.", required=True), DRY_RUN)
    results = (result("result", BooleanType(), "always true"),)
    details = (*KEPT, NOTE)
    example = "CALL sys.rename_tag(table => 'db.t', tag => 'draft', target_tag => 'release')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        table, dry_run = context.table(arguments["table"]), bool(arguments["dry_run"])
        tag = rename_tag(table, arguments["tag"], arguments["target_tag"], dry_run=dry_run)
        return [(True, *kept(tag), NOTHING_DONE if dry_run else None)]
