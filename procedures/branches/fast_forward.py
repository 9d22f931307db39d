"""``CALL sys.fast_forward``: let a table become what a branch of it is."""

from __future__ import annotations

import time
from typing import Any

from paimon_sql.format.schema.types import BigIntType, BooleanType, DoubleType, string_type
from paimon_sql.procedures.base import TABLE, Context, Procedure, result
from paimon_sql.procedures.branches.create_branch import BRANCH
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.operations.fast_forward import fast_forward


class FastForward(Procedure):
    """What came to the table since the branch was made of it goes; the branch's snapshots, tags and schemas come."""

    name = "fast_forward"
    summary = "Let a table become what a branch of it is."
    arguments = (TABLE, BRANCH, DRY_RUN)
    results = (result("result", BooleanType(), "always true"),)
    details = (
        result("previous_snapshot_id", BigIntType(), "the newest snapshot before; null without any"),
        result("current_snapshot_id", BigIntType(), "the newest snapshot now"),
        result("shared_snapshot_id", BigIntType(), "the last one that both had; null without any"),
        result("removed_snapshots", BigIntType(), "snapshots of the table that went"),
        result("added_snapshots", BigIntType(), "snapshots of the branch that came"),
        result("removed_tags", string_type(), "the tags that went; null without any"),
        result("added_tags", string_type(), "the tags that came; null without any"),
        result("seconds", DoubleType(), "how long it took"),
        result("note", string_type(), "why nothing was done, or what becomes of the files"),
    )
    example = "CALL sys.fast_forward(table => 'db.t', branch => 'dev')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        started, dry_run = time.monotonic(), bool(arguments["dry_run"])
        done = fast_forward(context.table(arguments["table"]), arguments["branch"], dry_run=dry_run)
        note = None
        if done.is_empty():
            note = "the table was there already"
        elif dry_run:
            note = NOTHING_DONE
        elif done.dropped:
            note = "the files of removed snapshots stay until CALL sys.remove_orphan_files"
        return [
            (
                True,
                done.previous,
                done.current,
                done.shared or None,
                len(done.dropped),
                len(done.added),
                ", ".join(done.dropped_tags) or None,
                ", ".join(done.added_tags) or None,
                round(time.monotonic() - started, 3),
                note,
            )
        ]
