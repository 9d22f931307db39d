"""``CALL sys.rename_branch``: give a branch another name."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.schema.types import BigIntType, BooleanType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.branches.management import rename_branch


class RenameBranch(Procedure):
    """The branch keeps what it holds; its new name must be free."""

    name = "rename_branch"
    summary = "Give a branch another name."
    arguments = (
        TABLE,
        Argument("from_branch", string_type(), "The branch.", required=True),
        Argument("to_branch", string_type(), "Its new name.", required=True),
        DRY_RUN,
    )
    results = (result("result", BooleanType(), "always true"),)
    details = (
        result("snapshots", BigIntType(), "the snapshots that the branch has"),
        result("tags", BigIntType(), "the tags that it has"),
        result("note", string_type(), "why nothing was done"),
    )
    example = "CALL sys.rename_branch(table => 'db.t', from_branch => 'dev', to_branch => 'test')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        table, dry_run = context.table(arguments["table"]), bool(arguments["dry_run"])
        held = rename_branch(table, arguments["from_branch"], arguments["to_branch"], dry_run=dry_run)
        return [(True, held.snapshots, held.tags, NOTHING_DONE if dry_run else None)]
