"""``CALL sys.expire_changelogs``: let changelogs go that have outlived their snapshots."""

from __future__ import annotations

import time
from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.types import BigIntType, BooleanType, DoubleType, IntType, string_type
from paimon_sql.format.text.instants import present_millis
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.retention import MAX_DELETES, OLDER_THAN, asked
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.maintenance.snapshots.changelogs import expire_changelogs
from paimon_sql.storage.retention.policy import changelog_retention_of


class ExpireChangelogs(Procedure):
    """What is left out comes from the table's changelog options. Snapshots and changelogs are counted together."""

    name = "expire_changelogs"
    summary = "Let changelogs go that have outlived their snapshots, and the files that only they needed."
    arguments = (
        TABLE,
        Argument("retain_max", IntType(), "How many snapshots and changelogs stay at most."),
        Argument("retain_min", IntType(), "How many stay at least."),
        OLDER_THAN,
        MAX_DELETES,
        Argument("delete_all", BooleanType(), "Let all go that no consumer wants; not with the other arguments."),
        DRY_RUN,
    )
    results = (result("deleted_changelogs_count", IntType(False), "how many changelogs went"),)
    details = (
        result("first_expired_changelog", BigIntType(), "the first of them"),
        result("last_expired_changelog", BigIntType(), "the last of them"),
        result("deleted_changelog_files", BigIntType(), "changelog files deleted"),
        result("deleted_data_files", BigIntType(), "data files deleted that stood for a changelog"),
        result("deleted_manifests", BigIntType(), "manifests and manifest lists deleted"),
        result("deleted_bytes", BigIntType(), "the bytes of all these files, as far as the metadata tells them"),
        result("earliest_changelog", BigIntType(), "the first changelog that is left"),
        result("latest_changelog", BigIntType(), "the last one"),
        result("seconds", DoubleType(), "how long it took"),
        result("note", string_type(), "why no more went"),
    )
    example = "CALL sys.expire_changelogs(table => 'db.t', retain_max => 100, retain_min => 10)"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        started, now = time.monotonic(), present_millis()
        dry_run, everything = bool(arguments["dry_run"]), bool(arguments["delete_all"])
        bounds = ("retain_max", "retain_min", "older_than", "max_deletes")
        if everything and any(arguments[name] is not None for name in bounds):
            raise InvalidInputError("delete_all says already what goes.", remedy=f"Leave out {', '.join(bounds)}.")
        table = context.table(arguments["table"])
        retention = asked(table.options, now, arguments, context.zone, changelog_retention_of)
        done = expire_changelogs(table, retention, everything=everything, dry_run=dry_run)
        files, gone = done.files, done.changelogs
        left = f"changelog {done.earliest} stays: {done.reason}" if done.earliest else done.reason
        return [
            (
                len(gone),
                gone[0] if gone else None,
                gone[-1] if gone else None,
                len(files.changelog),
                len(files.data),
                len(files.manifests) + len(files.lists),
                files.bytes,
                done.earliest,
                done.latest,
                round(time.monotonic() - started, 3),
                "; ".join(part for part in (NOTHING_DONE if dry_run else "", left) if part) or None,
            )
        ]
