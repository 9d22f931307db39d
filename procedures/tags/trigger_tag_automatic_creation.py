"""``CALL sys.trigger_tag_automatic_creation``: create due tags without a commit."""

from __future__ import annotations

from paimon_sql.format.options.operations.snapshot import TAG_AUTOMATIC_CREATION, TAG_TIME_EXPIRE_ENABLED
from paimon_sql.procedures.base import Context, Done, Noted, OfTable, Procedure, detail
from paimon_sql.storage.maintenance.tags.automatic_creation import execute_plan, plan_automatic_tags
from paimon_sql.storage.maintenance.tags.management import delete_tags, expired_tags


class TriggerTagAutomaticCreation(Procedure):
    """Commits do so automatically if tag.automatic-creation is set."""

    summary = "Create the automatic tags that are due, and delete expired ones."
    example = "CALL sys.trigger_tag_automatic_creation(table => 'db.t')"

    Arguments = OfTable

    class Result(Done, Noted, kw_only=True):
        created_tags: str | None = detail("the created tags; null without any")
        deleted_tags: str | None = detail("the deleted tags, which were too many or had expired; null without any")

    def call(self, context: Context, arguments: OfTable) -> Result:
        table = context.table(arguments.table)
        plan = plan_automatic_tags(table)
        created = [tag.name for tag in plan.create] if arguments.dry_run else execute_plan(table, plan)
        expired = expired_tags(table) if table.options.get(TAG_TIME_EXPIRE_ENABLED) else []
        deleted = [*plan.delete, *(tag.name for tag in expired if tag.name not in plan.delete)]
        if not arguments.dry_run:
            delete_tags(table, [tag.name for tag in expired])
        mode = table.options.get(TAG_AUTOMATIC_CREATION)
        is_set = mode in ("process-time", "watermark")
        nothing = "no period without a tag has ended" if is_set else f"'{TAG_AUTOMATIC_CREATION.key}' is '{mode}'"
        return self.Result(
            created_tags=", ".join(created) or None,
            deleted_tags=", ".join(deleted) or None,
            note=None if created or deleted else nothing,
        )
