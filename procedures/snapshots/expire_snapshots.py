"""``CALL sys.expire_snapshots``: expire old snapshots, and delete the files that only they use."""

from __future__ import annotations

from paimon_sql.format.text.instants import current_millis
from paimon_sql.procedures.base import Context, Int, Long, OfTable, Procedure, Timed, column, detail, optional
from paimon_sql.procedures.values import MAX_DELETES, OLDER_THAN, OPTIONS, instant_of, options_of
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.retention.policy import Limits, retention_of


class ExpireSnapshots(Procedure):
    """Snapshots beyond the maximum expire, and those beyond the minimum that are older than the limit.

    Omitted arguments default to the table's options. Files of tags, branches and consumers are kept.
    """

    summary = "Expire old snapshots, and delete the files that only they use."
    example = "CALL sys.expire_snapshots(table => 'db.t', retain_max => 20, retain_min => 10)"

    class Arguments(OfTable, kw_only=True):
        retain_max: Int | None = optional("Maximum number of snapshots to retain; at least retain_min.")
        retain_min: Int | None = optional("Minimum number of snapshots to retain.")
        older_than: str | None = optional(OLDER_THAN)
        max_deletes: Int | None = optional(MAX_DELETES)
        options: str | None = optional(OPTIONS)

    class Result(Timed, kw_only=True):
        deleted_snapshots_count: Int = column("number of expired snapshots", nullable=False)
        first_expired_snapshot: Long | None = detail("the first of them")
        last_expired_snapshot: Long | None = detail("the last of them")
        deleted_data_files: Long = detail("data files deleted, with their extra files")
        deleted_changelog_files: Long = detail("changelog files deleted")
        deleted_manifests: Long = detail("manifests and manifest lists deleted")
        deleted_index_files: Long = detail("index and statistics files deleted")
        deleted_bytes: Long = detail("the size of all these files in bytes, as far as known from metadata")
        expired_changelogs: Long = detail("expired changelogs of expired snapshots")
        earliest_snapshot: Long | None = detail("the first retained snapshot")
        latest_snapshot: Long | None = detail("the last retained snapshot")
        note: str | None = detail("why no more snapshots were expired", last=True)

    def call(self, context: Context, arguments: Arguments) -> Result:
        now = current_millis()
        table = context.table(arguments.table).with_options(options_of(arguments.options))
        older_than = instant_of(arguments.older_than, context.zone)
        limits = Limits(arguments.retain_max, arguments.retain_min, older_than, arguments.max_deletes)
        retention = retention_of(table.options, now, limits)
        done = expire_snapshots(table, retention, dry_run=arguments.dry_run, now_millis=now)
        files = done.files
        note = f"snapshot {done.earliest} is retained: {done.reason}" if done.earliest else done.reason
        return self.Result(
            deleted_snapshots_count=len(done.snapshots),
            first_expired_snapshot=done.snapshots[0] if done.snapshots else None,
            last_expired_snapshot=done.snapshots[-1] if done.snapshots else None,
            deleted_data_files=files.data,
            deleted_changelog_files=files.changelog,
            deleted_manifests=files.manifests + files.lists,
            deleted_index_files=files.indexes + files.statistics,
            deleted_bytes=files.bytes,
            expired_changelogs=done.changelogs,
            earliest_snapshot=done.earliest,
            latest_snapshot=done.latest,
            note=f"dry run, nothing was deleted; {note}" if arguments.dry_run else note,
        )
