"""``CALL sys.rollback``: take a table back to a snapshot or tag."""

from __future__ import annotations

from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.types import BigIntType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.maintenance.snapshots.rollback import RollbackResult, rollback_to_snapshot, rollback_to_tag

RESULTS = (
    result("previous_snapshot_id", BigIntType(False), "the newest snapshot before"),
    result("current_snapshot_id", BigIntType(False), "the newest snapshot now"),
)
DETAILS = (
    result("removed_snapshots", BigIntType(), "how many later snapshots went"),
    result("removed_tags", string_type(), "the tags on later snapshots, which went too; null without any"),
    result("note", string_type(), "what becomes of the files"),
)


class Rollback(Procedure):
    """Later snapshots and the tags on them go; a tag whose snapshot expired brings it back."""

    name = "rollback"
    summary = "Take a table back to a snapshot or tag; what came later goes."
    arguments = (
        TABLE,
        Argument("version", string_type(), "A snapshot's number, or else a tag."),
        Argument("snapshot", BigIntType(), "A snapshot's number."),
        Argument("tag", string_type(), "A tag, whatever its name looks like."),
        DRY_RUN,
    )
    results = RESULTS
    details = DETAILS
    example = "CALL sys.rollback(table => 'db.t', version => '7')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        version, snapshot, tag = (arguments[name] for name in ("version", "snapshot", "tag"))
        version = version if version and version.strip() else None
        given = [name for name in ("version", "snapshot", "tag") if arguments[name] is not None]
        if (version is not None) + (snapshot is not None) + (tag is not None) != 1:
            raise InvalidInputError(
                f"rollback needs one target, but {' and '.join(given) or 'none'} was given.",
                remedy="Give one of version, snapshot and tag.",
            )
        table, dry_run = context.table(arguments["table"]), bool(arguments["dry_run"])
        if version is not None and version.isascii() and version.isdigit():
            snapshot = int(version)
        if snapshot is not None:
            return [answer(rollback_to_snapshot(table, snapshot, dry_run=dry_run), dry_run=dry_run)]
        return [answer(rollback_to_tag(table, tag or version, dry_run=dry_run), dry_run=dry_run)]


def answer(done: RollbackResult, *, dry_run: bool) -> tuple[Any, ...]:
    """The row that says what a rollback did, or would do."""
    note = "the table was there already"
    if done.snapshots:
        note = NOTHING_DONE if dry_run else "the files of later snapshots stay until CALL sys.remove_orphan_files"
    return done.previous, done.current, done.snapshots, ", ".join(done.tags) or None, note
