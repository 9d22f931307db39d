"""``CALL sys.delete_branch``: delete branches."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.schema.types import BigIntType, BooleanType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE, names_of
from paimon_sql.storage.branches.management import delete_branches


class DeleteBranch(Procedure):
    """None is deleted unless all can be. Their data files stay until `sys.remove_orphan_files` finds them."""

    name = "delete_branch"
    summary = "Delete branches with their snapshots and tags."
    arguments = (
        TABLE,
        Argument("branch", string_type(), "The branch, or several with commas between.", required=True),
        DRY_RUN,
    )
    results = (result("result", BooleanType(), "always true"),)
    details = (
        result("deleted_branches", BigIntType(), "how many branches went"),
        result("deleted_snapshots", BigIntType(), "the snapshots that they had"),
        result("deleted_tags", BigIntType(), "the tags that they had"),
        result("note", string_type(), "what becomes of the data files"),
    )
    example = "CALL sys.delete_branch(table => 'db.t', branch => 'dev,test')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        table, dry_run = context.table(arguments["table"]), bool(arguments["dry_run"])
        names = names_of(arguments["branch"], "branch")
        if len(names) > 1 and table.branches.exists(arguments["branch"]):
            names = [arguments["branch"]]  # a branch whose name holds commas
        gone = delete_branches(table, names, dry_run=dry_run)
        note = NOTHING_DONE if dry_run else "data files that only they used stay until CALL sys.remove_orphan_files"
        return [(True, len(gone), sum(b.snapshots for b in gone), sum(b.tags for b in gone), note)]
