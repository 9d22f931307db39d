"""``CALL sys.expire_changelogs``: expire changelogs that have outlived their snapshots."""

from __future__ import annotations

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.records import Int, Long, column
from paimon_sql.format.text.instants import current_millis
from paimon_sql.procedures.base import Context, OfTable, Procedure, Timed, detail, optional
from paimon_sql.procedures.values import MAX_DELETES, NOTHING_DONE, OLDER_THAN, instant_of
from paimon_sql.storage.maintenance.snapshots.expiration import expire_changelogs
from paimon_sql.storage.retention.policy import Limits, changelog_retention_of


class ExpireChangelogs(Procedure):
    """Omitted arguments default to the table's changelog options. Snapshots and changelogs are counted together."""

    summary = "Expire changelogs of expired snapshots, and delete the files that only they use."
    example = "CALL sys.expire_changelogs(table => 'db.t', retain_max => 100, retain_min => 10)"

    class Arguments(OfTable, kw_only=True):
        retain_max: Int | None = optional("Maximum number of snapshots and changelogs to retain.")
        retain_min: Int | None = optional("Minimum number to retain.")
        older_than: str | None = optional(OLDER_THAN)
        max_deletes: Int | None = optional(MAX_DELETES)
        delete_all: bool = optional("Expire all that no consumer needs; not with the other limits.", default=False)

    class Result(Timed, kw_only=True):
        deleted_changelogs_count: Int = column("number of expired changelogs", nullable=False)
        first_expired_changelog: Long | None = detail("the first of them")
        last_expired_changelog: Long | None = detail("the last of them")
        deleted_changelog_files: Long = detail("changelog files deleted")
        deleted_data_files: Long = detail("deleted data files that served as changelog")
        deleted_manifests: Long = detail("manifests and manifest lists deleted")
        deleted_bytes: Long = detail("the size of all these files in bytes, as far as known from metadata")
        earliest_changelog: Long | None = detail("the first retained changelog")
        latest_changelog: Long | None = detail("the last retained changelog")
        note: str | None = detail("why no more were expired", last=True)

    def call(self, context: Context, arguments: Arguments) -> Result:
        bounds = ("retain_max", "retain_min", "older_than", "max_deletes")
        if arguments.delete_all and any(getattr(arguments, name) is not None for name in bounds):
            raise InvalidInputError(
                "delete_all cannot be combined with limits.", remedy=f"Leave out {', '.join(bounds)}."
            )
        table = context.table(arguments.table)
        older_than = instant_of(arguments.older_than, context.zone)
        limits = Limits(arguments.retain_max, arguments.retain_min, older_than, arguments.max_deletes)
        retention = changelog_retention_of(table.options, current_millis(), limits)
        done = expire_changelogs(table, retention, everything=arguments.delete_all, dry_run=arguments.dry_run)
        files, expired = done.files, done.changelogs
        retained_note = f"changelog {done.earliest} is retained: {done.reason}" if done.earliest else done.reason
        return self.Result(
            deleted_changelogs_count=len(expired),
            first_expired_changelog=expired[0] if expired else None,
            last_expired_changelog=expired[-1] if expired else None,
            deleted_changelog_files=len(files.changelog),
            deleted_data_files=len(files.data),
            deleted_manifests=len(files.manifests) + len(files.lists),
            deleted_bytes=files.bytes,
            earliest_changelog=done.earliest,
            latest_changelog=done.latest,
            note="; ".join(part for part in (NOTHING_DONE if arguments.dry_run else "", retained_note) if part) or None,
        )
