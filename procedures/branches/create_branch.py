"""``CALL sys.create_branch``: create a branch, empty or from a tag or snapshot."""

from __future__ import annotations

from paimon_sql.procedures.base import Context, Done, Long, Noted, OfTable, Procedure, detail, optional, required
from paimon_sql.procedures.values import boolean_of
from paimon_sql.storage.branches.management import create_branch

THE_BRANCH = "The branch's name."


class CreateBranch(Procedure):
    """It is read and written as `t$branch_name`, independently of the table. No data is copied."""

    summary = "Create a branch of a table: empty, or from a tag or snapshot."
    example = "CALL sys.create_branch(table => 'db.t', branch => 'dev', tag => 'before_migration')"

    class Arguments(OfTable, kw_only=True):
        branch: str = required(THE_BRANCH)
        tag: str | None = optional("The tag to create it from; empty without tag and snapshot.")
        ignoreIfExists: str | None = optional("'true' to do nothing if a branch of that name exists.")  # noqa: N815
        snapshot: Long | None = optional("The snapshot to create it from.")

    class Result(Done, Noted, kw_only=True):
        snapshot_id: Long | None = detail("the snapshot that it was created from; null for an empty branch")
        record_count: Long | None = detail("the records of that snapshot, before merging")
        schema_id: Long = detail("its newest schema")

    def call(self, context: Context, arguments: Arguments) -> Result:
        created = create_branch(
            context.table(arguments.table),
            arguments.branch,
            tag=arguments.tag,
            snapshot_id=arguments.snapshot,
            ignore_if_exists=boolean_of(arguments.ignoreIfExists, "ignoreIfExists"),
            dry_run=arguments.dry_run,
        )
        base = created.snapshot
        return self.Result(
            snapshot_id=base.id if base else None,
            record_count=base.total_record_count if base else None,
            schema_id=created.schema_id,
            note="the branch exists already" if created.existed else None,
        )
