"""``CALL sys.rollback``: roll a table back to a snapshot or tag."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paimon_sql.errors import InvalidInputError
from paimon_sql.procedures.base import THE_TABLE, Context, Procedure
from paimon_sql.procedures.declaration import Long, column, detail, optional, required
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.maintenance.snapshots.rollback import RollbackResult, rollback_to_snapshot, rollback_to_tag

PREVIOUS_SNAPSHOT = "the newest snapshot before"
CURRENT_SNAPSHOT = "the newest snapshot now"
REMOVED_SNAPSHOTS = "how many later snapshots went"
REMOVED_TAGS = "the tags on later snapshots, which went too; null without any"
FILES_LEFT = "what becomes of the files"


class Rollback(Procedure):
    """Later snapshots and the tags on them go; a tag whose snapshot expired brings it back."""

    summary = "Take a table back to a snapshot or tag; what came later goes."
    example = "CALL sys.rollback(table => 'db.t', version => '7')"

    @dataclass(frozen=True, kw_only=True)
    class Arguments:
        table: str = required(THE_TABLE)
        version: str | None = optional("A snapshot's number, or else a tag.")
        snapshot: Long | None = optional("A snapshot's number.")
        tag: str | None = optional("A tag, whatever its name looks like.")
        dry_run: bool | None = optional(DRY_RUN)

    @dataclass(frozen=True)
    class Result:
        previous_snapshot_id: Long = column(PREVIOUS_SNAPSHOT, nullable=False)
        current_snapshot_id: Long = column(CURRENT_SNAPSHOT, nullable=False)
        removed_snapshots: Long = detail(REMOVED_SNAPSHOTS)
        removed_tags: str | None = detail(REMOVED_TAGS)
        note: str = detail(FILES_LEFT)

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        version, snapshot, tag = arguments.version, arguments.snapshot, arguments.tag
        version = version if version and version.strip() else None
        given = [name for name in ("version", "snapshot", "tag") if getattr(arguments, name) is not None]
        if (version is not None) + (snapshot is not None) + (tag is not None) != 1:
            raise InvalidInputError(
                f"rollback needs one target, but {' and '.join(given) or 'none'} was given.",
                remedy="Give one of version, snapshot and tag.",
            )
        table, dry_run = context.table(arguments.table), bool(arguments.dry_run)
        if version is not None and version.isascii() and version.isdigit():
            snapshot = int(version)
        if snapshot is not None:
            done = rollback_to_snapshot(table, snapshot, dry_run=dry_run)
        else:
            done = rollback_to_tag(table, tag or version or "", dry_run=dry_run)
        yield self.Result(*answer(done, dry_run=dry_run))


def answer(done: RollbackResult, *, dry_run: bool) -> tuple[int, int, int, str | None, str]:
    """The values of the result row for a rollback, also for a dry run."""
    note = "the table was there already"
    if done.snapshots:
        note = NOTHING_DONE if dry_run else "the files of later snapshots stay until CALL sys.remove_orphan_files"
    return done.previous, done.current, done.snapshots, ", ".join(done.tags) or None, note
