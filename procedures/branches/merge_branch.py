"""``CALL sys.merge_branch``: add the rows of one branch of an append table to another."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, Record, column, detail, optional, required
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
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
        dry_run: bool | None = optional(DRY_RUN)

    class Result(Record):
        result: bool = column("always true")
        merged_files: Long = detail("number of added data files")
        merged_records: Long = detail("number of their rows")
        merged_bytes: Long = detail("their size in bytes")
        snapshot_id: Long | None = detail("the created snapshot; null if nothing was done")
        seconds: float = detail("duration in seconds")
        note: str | None = detail("why nothing was done")

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        dry_run = bool(arguments.dry_run)
        source, target = arguments.source_branch, arguments.target_branch
        target = MAIN_BRANCH if target is None else target
        for name, value in (("source_branch", source), ("target_branch", target)):
            if not value.strip():
                raise InvalidInputError(f"{name} must not be blank.")
        done = merge_branch(context.table(arguments.table), source, target, dry_run=dry_run)
        note = None
        if not done.files:
            note = f"'{target}' already contains all files of '{source}'"
        elif dry_run:
            note = NOTHING_DONE
        yield self.Result(
            result=True,
            merged_files=len(done.files),
            merged_records=done.rows,
            merged_bytes=done.bytes,
            snapshot_id=done.snapshot.id if done.snapshot else None,
            seconds=context.seconds(),
            note=note,
        )
