"""``CALL sys.replace_tag``: let a tag keep another snapshot."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.schema.types import BigIntType, BooleanType
from paimon_sql.procedures.base import TABLE, Context, Procedure, result
from paimon_sql.procedures.tags.create_tag import KEPT, NOTE, SNAPSHOT, TAG, TIME_RETAINED, kept
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE, length_of
from paimon_sql.storage.maintenance.tags.management import replace_tag


class ReplaceTag(Procedure):
    """An existing tag keeps another snapshot from now on; what only the old one needed is freed."""

    name = "replace_tag"
    summary = "Let an existing tag keep another snapshot."
    arguments = (TABLE, TAG, SNAPSHOT, TIME_RETAINED, DRY_RUN)
    results = (result("result", BooleanType(), "always true"),)
    details = (
        *KEPT,
        result("deleted_files", BigIntType(), "files deleted that only the tag had kept"),
        result("deleted_bytes", BigIntType(), "their bytes"),
        NOTE,
    )
    example = "CALL sys.replace_tag(table => 'db.t', tag => 'golden', snapshot => 12)"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        retained = length_of(arguments["time_retained"], "time_retained")
        table, dry_run = context.table(arguments["table"]), bool(arguments["dry_run"])
        tag, freed = replace_tag(table, arguments["tag"], arguments["snapshot"], retained, dry_run=dry_run)
        return [(True, *kept(tag), freed.count, freed.bytes, NOTHING_DONE if dry_run else None)]
