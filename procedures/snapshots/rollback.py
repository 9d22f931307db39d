"""``CALL sys.rollback``: roll a table back to a snapshot or tag."""

from __future__ import annotations

from paimon_sql.errors import InvalidInputError
from paimon_sql.procedures.base import Context, DryRun, Long, OfTable, Procedure, Record, column, detail, optional
from paimon_sql.procedures.values import NOTHING_DONE
from paimon_sql.storage.maintenance.snapshots.rollback import RollbackResult, rollback_to_snapshot, rollback_to_tag


class Rollback(Procedure):
    """Later snapshots and their tags are removed; a tag restores its snapshot if that has expired."""

    summary = "Roll a table back to a snapshot or tag, and remove later snapshots."
    example = "CALL sys.rollback(table => 'db.t', version => '7')"

    class Arguments(OfTable, kw_only=True):
        version: str | None = optional("A snapshot ID, or else a tag.")
        snapshot: Long | None = optional("A snapshot ID.")
        tag: str | None = optional("A tag, even if its name is a number.")

    class Result(Record):
        previous_snapshot_id: Long = column("the latest snapshot before", nullable=False)
        current_snapshot_id: Long = column("the latest snapshot now", nullable=False)
        removed_snapshots: Long = detail("number of removed later snapshots")
        removed_tags: str | None = detail("the removed tags of later snapshots; null without any")
        note: str = detail("what happens to the files")

    def call(self, context: Context, arguments: Arguments) -> Result:
        version, snapshot, tag = arguments.version, arguments.snapshot, arguments.tag
        version = version if version and version.strip() else None
        given = [name for name in ("version", "snapshot", "tag") if getattr(arguments, name) is not None]
        if (version is not None) + (snapshot is not None) + (tag is not None) != 1:
            raise InvalidInputError(
                f"rollback needs one target, but {' and '.join(given) or 'none'} was given.",
                remedy="Specify one of version, snapshot and tag.",
            )
        table = context.table(arguments.table)
        if version is not None and version.isascii() and version.isdigit():
            snapshot = int(version)
        if snapshot is not None:
            done = rollback_to_snapshot(table, snapshot, dry_run=arguments.dry_run)
        else:
            done = rollback_to_tag(table, tag or version or "", dry_run=arguments.dry_run)
        return rollback_record(done, arguments)


def rollback_record(done: RollbackResult, arguments: DryRun) -> Rollback.Result:
    """The result row for a rollback, also for a dry run."""
    note = "the table has this state already"
    if done.snapshots:
        kept = "the files of later snapshots are kept until CALL sys.remove_orphan_files"
        note = NOTHING_DONE if arguments.dry_run else kept
    return Rollback.Result(done.previous, done.current, done.snapshots, ", ".join(done.tags) or None, note)
