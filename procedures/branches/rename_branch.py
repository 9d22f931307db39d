"""``CALL sys.rename_branch``: rename a branch."""

from __future__ import annotations

from paimon_sql.procedures.base import Context, Done, Long, Noted, OfTable, Procedure, detail, required
from paimon_sql.storage.branches.management import rename_branch


class RenameBranch(Procedure):
    """The branch keeps its content; the new name must not exist."""

    summary = "Rename a branch."
    example = "CALL sys.rename_branch(table => 'db.t', from_branch => 'dev', to_branch => 'test')"

    class Arguments(OfTable, kw_only=True):
        from_branch: str = required("The branch.")
        to_branch: str = required("Its new name.")

    class Result(Done, Noted, kw_only=True):
        snapshots: Long = detail("number of its snapshots")
        tags: Long = detail("number of its tags")

    def call(self, context: Context, arguments: Arguments) -> Result:
        table = context.table(arguments.table)
        branch = rename_branch(table, arguments.from_branch, arguments.to_branch, dry_run=arguments.dry_run)
        return self.Result(snapshots=branch.snapshots, tags=branch.tags)
