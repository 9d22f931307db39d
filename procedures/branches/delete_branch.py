"""``CALL sys.delete_branch``: delete branches."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, Record, column, detail, optional, required
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE, names_of
from paimon_sql.storage.branches.management import delete_branches


class DeleteBranch(Procedure):
    """Either all are deleted or none. Their data files are kept until `sys.remove_orphan_files` deletes them."""

    summary = "Delete branches with their snapshots and tags."
    example = "CALL sys.delete_branch(table => 'db.t', branch => 'dev,test')"

    class Arguments(OfTable, kw_only=True):
        branch: str = required("The branch, or several separated by commas.")
        dry_run: bool | None = optional(DRY_RUN)

    class Result(Record):
        result: bool = column("always true")
        deleted_branches: Long = detail("number of deleted branches")
        deleted_snapshots: Long = detail("number of their snapshots")
        deleted_tags: Long = detail("number of their tags")
        note: str = detail("what happens to the data files")

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        table, dry_run = context.table(arguments.table), bool(arguments.dry_run)
        names = names_of(arguments.branch, "branch")
        if len(names) > 1 and table.branches.exists(arguments.branch):
            names = [arguments.branch]  # a branch whose name holds commas
        deleted = delete_branches(table, names, dry_run=dry_run)
        yield self.Result(
            result=True,
            deleted_branches=len(deleted),
            deleted_snapshots=sum(b.snapshots for b in deleted),
            deleted_tags=sum(b.tags for b in deleted),
            note=NOTHING_DONE
            if dry_run
            else "data files that only they used are kept until CALL sys.remove_orphan_files",
        )
