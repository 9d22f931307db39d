"""``CALL sys.create_branch``: begin a branch, empty or from a tag or snapshot."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.schema.types import BigIntType, BooleanType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE, truth_of
from paimon_sql.storage.branches.management import create_branch

BRANCH = Argument("branch", string_type(), "The branch's name.", required=True)


class CreateBranch(Procedure):
    """It is read and written as `t$branch_name`, apart from the table. No data is copied."""

    name = "create_branch"
    summary = "Begin a branch of a table: empty, or from a tag or snapshot."
    arguments = (
        TABLE,
        BRANCH,
        Argument("tag", string_type(), "The tag that it begins with; empty without tag and snapshot."),
        Argument("ignoreIfExists", string_type(), "'true' to leave a branch of that name as it is."),
        Argument("snapshot", BigIntType(), "The snapshot that it begins with."),
        DRY_RUN,
    )
    results = (result("result", BooleanType(), "always true"),)
    details = (
        result("snapshot_id", BigIntType(), "the snapshot that it begins with; null for an empty branch"),
        result("record_count", BigIntType(), "the records of that snapshot, before merging"),
        result("schema_id", BigIntType(), "its newest schema"),
        result("note", string_type(), "why nothing was done"),
    )
    example = "CALL sys.create_branch(table => 'db.t', branch => 'dev', tag => 'before_migration')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        dry_run = bool(arguments["dry_run"])
        made = create_branch(
            context.table(arguments["table"]),
            arguments["branch"],
            tag=arguments["tag"],
            snapshot_id=arguments["snapshot"],
            ignore_if_exists=truth_of(arguments["ignoreIfExists"], "ignoreIfExists"),
            dry_run=dry_run,
        )
        note = "the branch exists already" if made.existed else NOTHING_DONE if dry_run else None
        kept = made.snapshot
        return [(True, kept and kept.id, kept and kept.total_record_count, made.schema_id, note)]
