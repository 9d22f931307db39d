"""``CALL sys.fast_forward``: replace the state of a table by that of a branch."""

from __future__ import annotations

from paimon_sql.procedures.base import Context, Done, Long, OfTable, Procedure, Timed, detail, required
from paimon_sql.procedures.branches.create_branch import THE_BRANCH
from paimon_sql.storage.operations.fast_forward import fast_forward


class FastForward(Procedure):
    """Removes what was added to the table since the branch was created; adds its snapshots, tags and schemas."""

    summary = "Replace the state of a table by that of one of its branches."
    example = "CALL sys.fast_forward(table => 'db.t', branch => 'dev')"

    class Arguments(OfTable, kw_only=True):
        branch: str = required(THE_BRANCH)

    class Result(Done, Timed, kw_only=True):
        previous_snapshot_id: Long | None = detail("the latest snapshot before; null without any")
        current_snapshot_id: Long = detail("the latest snapshot now")
        shared_snapshot_id: Long | None = detail("their latest common snapshot; null without one")
        removed_snapshots: Long = detail("number of removed snapshots of the table")
        added_snapshots: Long = detail("number of added snapshots of the branch")
        removed_tags: str | None = detail("the removed tags; null without any")
        added_tags: str | None = detail("the added tags; null without any")
        note: str | None = detail("why nothing was done, or what happens to the files", last=True)

    def call(self, context: Context, arguments: Arguments) -> Result:
        done = fast_forward(context.table(arguments.table), arguments.branch, dry_run=arguments.dry_run)
        note = None
        if done.is_empty():
            note = "the table has this state already"
        elif done.dropped and not arguments.dry_run:
            note = "the files of removed snapshots are kept until CALL sys.remove_orphan_files"
        return self.Result(
            previous_snapshot_id=done.previous,
            current_snapshot_id=done.current,
            shared_snapshot_id=done.shared or None,
            removed_snapshots=len(done.dropped),
            added_snapshots=len(done.added),
            removed_tags=", ".join(done.dropped_tags) or None,
            added_tags=", ".join(done.added_tags) or None,
            note=note,
        )
