"""``CALL sys.delete_branch``: delete branches."""

from __future__ import annotations

from paimon_sql.procedures.base import Context, Done, Long, Noted, OfTable, Procedure, detail, required
from paimon_sql.procedures.values import names_of
from paimon_sql.storage.branches.management import delete_branches

KEPT_FILES = "data files that only they used are kept until CALL sys.remove_orphan_files"


class DeleteBranch(Procedure):
    """Either all are deleted or none. Their data files are kept until `sys.remove_orphan_files` deletes them."""

    summary = "Delete branches with their snapshots and tags."
    example = "CALL sys.delete_branch(table => 'db.t', branch => 'dev,test')"

    class Arguments(OfTable, kw_only=True):
        branch: str = required("The branch, or several separated by commas.")

    class Result(Done, Noted, kw_only=True):
        deleted_branches: Long = detail("number of deleted branches")
        deleted_snapshots: Long = detail("number of their snapshots")
        deleted_tags: Long = detail("number of their tags")
        note: str | None = detail("what happens to the data files", last=True)

    def call(self, context: Context, arguments: Arguments) -> Result:
        table = context.table(arguments.table)
        names = names_of(arguments.branch, "branch", table.branches.exists)
        deleted = delete_branches(table, names, dry_run=arguments.dry_run)
        return self.Result(
            deleted_branches=len(deleted),
            deleted_snapshots=sum(b.snapshots for b in deleted),
            deleted_tags=sum(b.tags for b in deleted),
            note=None if arguments.dry_run else KEPT_FILES,
        )
