"""``CALL sys.merge_branch``: bring the rows of one branch of an append table to another."""

from __future__ import annotations

import time
from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.schema.types import BigIntType, BooleanType, DoubleType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.operations.merge_branch import merge_branch


class MergeBranch(Procedure):
    """The files that the target lacks are committed there as they are; the source stays.

    Both must be whole, from their first snapshot on, and hold nothing but new rows: `branch-merge.enabled` sees to it.
    """

    name = "merge_branch"
    summary = "Bring the rows of one branch of an append table to another."
    arguments = (
        TABLE,
        Argument("source_branch", string_type(), "The branch whose rows they are.", required=True),
        Argument("target_branch", string_type(), "The branch that gets them; main by default."),
        DRY_RUN,
    )
    results = (result("result", BooleanType(), "always true"),)
    details = (
        result("merged_files", BigIntType(), "data files that came"),
        result("merged_records", BigIntType(), "the rows in them"),
        result("merged_bytes", BigIntType(), "their bytes"),
        result("snapshot_id", BigIntType(), "the snapshot made; null if nothing was done"),
        result("seconds", DoubleType(), "how long it took"),
        result("note", string_type(), "why nothing was done"),
    )
    example = "CALL sys.merge_branch(table => 'db.t', source_branch => 'dev')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        started, dry_run = time.monotonic(), bool(arguments["dry_run"])
        source, target = arguments["source_branch"], arguments["target_branch"]
        target = MAIN_BRANCH if target is None else target
        for name, value in (("source_branch", source), ("target_branch", target)):
            if not value.strip():
                raise InvalidInputError(f"{name} must not be blank.")
        done = merge_branch(context.table(arguments["table"]), source, target, dry_run=dry_run)
        note = None
        if not done.files:
            note = f"'{target}' holds all files of '{source}' already"
        elif dry_run:
            note = NOTHING_DONE
        return [
            (
                True,
                len(done.files),
                done.rows,
                done.bytes,
                done.snapshot and done.snapshot.id,
                round(time.monotonic() - started, 3),
                note,
            )
        ]
