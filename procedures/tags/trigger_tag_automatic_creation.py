"""``CALL sys.trigger_tag_automatic_creation``: create due tags without a commit."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.format.options.operations.snapshot import TAG_AUTOMATIC_CREATION, TAG_TIME_EXPIRE_ENABLED
from paimon_sql.procedures.base import Context, OfTable, Procedure, Record, column, detail, optional
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.maintenance.tags.automatic_creation import execute_plan, plan_automatic_tags
from paimon_sql.storage.maintenance.tags.management import delete_tags, expired_tags


class TriggerTagAutomaticCreation(Procedure):
    """Commits do so automatically if tag.automatic-creation is set."""

    summary = "Create the automatic tags that are due, and delete expired ones."
    example = "CALL sys.trigger_tag_automatic_creation(table => 'db.t')"

    class Arguments(OfTable, kw_only=True):
        dry_run: bool | None = optional(DRY_RUN)

    class Result(Record):
        result: bool = column("always true")
        created_tags: str | None = detail("the created tags; null without any")
        deleted_tags: str | None = detail("the deleted tags, which were too many or had expired; null without any")
        note: str | None = detail("why nothing was done")

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        table, dry_run = context.table(arguments.table), bool(arguments.dry_run)
        plan = plan_automatic_tags(table)
        created = [tag.name for tag in plan.create] if dry_run else execute_plan(table, plan)
        expired = expired_tags(table) if table.options.get(TAG_TIME_EXPIRE_ENABLED) else []
        deleted = [*plan.delete, *(tag.name for tag in expired if tag.name not in plan.delete)]
        if not dry_run:
            delete_tags(table, [tag.name for tag in expired])
        mode = table.options.get(TAG_AUTOMATIC_CREATION)
        if created or deleted:
            note = NOTHING_DONE if dry_run else None
        elif mode in ("process-time", "watermark"):
            note = "no period without a tag has ended"
        else:
            note = f"'{TAG_AUTOMATIC_CREATION.key}' is '{mode}'"
        yield self.Result(True, ", ".join(created) or None, ", ".join(deleted) or None, note)
