"""``CALL sys.rename_branch``: rename a branch."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, Record, column, detail, optional, required
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.branches.management import rename_branch


class RenameBranch(Procedure):
    """The branch keeps its content; the new name must not exist."""

    summary = "Rename a branch."
    example = "CALL sys.rename_branch(table => 'db.t', from_branch => 'dev', to_branch => 'test')"

    class Arguments(OfTable, kw_only=True):
        from_branch: str = required("The branch.")
        to_branch: str = required("Its new name.")
        dry_run: bool | None = optional(DRY_RUN)

    class Result(Record):
        result: bool = column("always true")
        snapshots: Long = detail("number of its snapshots")
        tags: Long = detail("number of its tags")
        note: str | None = detail("why nothing was done")

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        table, dry_run = context.table(arguments.table), bool(arguments.dry_run)
        branch = rename_branch(table, arguments.from_branch, arguments.to_branch, dry_run=dry_run)
        yield self.Result(True, branch.snapshots, branch.tags, NOTHING_DONE if dry_run else None)
