"""``CALL sys.trigger_tag_automatic_creation``: make the tags that are due, without a commit."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.options.operations.tag import TAG_AUTOMATIC_CREATION, TAG_TIME_EXPIRE_ENABLED
from paimon_sql.format.schema.types import BooleanType, string_type
from paimon_sql.procedures.base import TABLE, Context, Procedure, result
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.maintenance.tags.automatic import carry_out, plan_automatic_tags
from paimon_sql.storage.maintenance.tags.expiration import expired_tags
from paimon_sql.storage.maintenance.tags.management import delete_tags


class TriggerTagAutomaticCreation(Procedure):
    """What commits do by themselves on a table with tag.automatic-creation; then tags go whose time is over."""

    name = "trigger_tag_automatic_creation"
    summary = "Make the tags that the table's options demand now, and delete those whose time is over."
    arguments = (TABLE, DRY_RUN)
    results = (result("result", BooleanType(), "always true"),)
    details = (
        result("created_tags", string_type(), "the tags that were made; null without any"),
        result("deleted_tags", string_type(), "those that were too many or had outlived their time; null without any"),
        result("note", string_type(), "why nothing was to do"),
    )
    example = "CALL sys.trigger_tag_automatic_creation(table => 'db.t')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        table, dry_run = context.table(arguments["table"]), bool(arguments["dry_run"])
        plan = plan_automatic_tags(table)
        made = [tag.name for tag in plan.create] if dry_run else carry_out(table, plan)
        over = expired_tags(table) if table.options.get(TAG_TIME_EXPIRE_ENABLED) else []
        gone = [*plan.delete, *(tag.name for tag in over if tag.name not in plan.delete)]
        if not dry_run:
            delete_tags(table, [tag.name for tag in over])
        mode = table.options.get(TAG_AUTOMATIC_CREATION)
        if made or gone:
            note = NOTHING_DONE if dry_run else None
        elif mode in ("process-time", "watermark"):
            note = "no span of time is over that has no tag yet"
        else:
            note = f"'{TAG_AUTOMATIC_CREATION.key}' is '{mode}'"
        return [(True, ", ".join(made) or None, ", ".join(gone) or None, note)]
