"""``CALL sys.merge_branch``: add the rows of one branch of an append table to another."""

from __future__ import annotations

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.procedures.base import Committed, Context, Done, Long, OfTable, Procedure, detail, optional, required
from paimon_sql.storage.operations.merge_branch import merge_branch


class MergeBranch(Procedure):
    """The files that the target lacks are committed there unchanged; the source is kept.

    Both need their complete history, with appends only: `branch-merge.enabled` ensures it.
    """

    summary = "Add the rows of one branch of an append table to another."
    example = "CALL sys.merge_branch(table => 'db.t', source_branch => 'dev')"

    class Arguments(OfTable, kw_only=True):
        source_branch: str = required("The branch to read.")
        target_branch: str | None = optional("The branch to add the rows to; main by default.")

    class Result(Done, Committed, kw_only=True):
        merged_files: Long = detail("number of added data files")
        merged_records: Long = detail("number of their rows")
        merged_bytes: Long = detail("their size in bytes")

    def call(self, context: Context, arguments: Arguments) -> Result:
        source, target = arguments.source_branch, arguments.target_branch
        target = MAIN_BRANCH if target is None else target
        for name, value in (("source_branch", source), ("target_branch", target)):
            if not value.strip():
                raise InvalidInputError(f"{name} must not be blank.")
        done = merge_branch(context.table(arguments.table), source, target, dry_run=arguments.dry_run)
        return self.Result(
            merged_files=len(done.files),
            merged_records=done.rows,
            merged_bytes=done.bytes,
            snapshot_id=done.snapshot.id if done.snapshot else None,
            note=None if done.files else f"'{target}' already contains all files of '{source}'",
        )
