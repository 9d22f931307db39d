"""``CALL sys.replace_tag``: move a tag to another snapshot."""

from __future__ import annotations

from dataclasses import replace

from paimon_sql.procedures.base import Context, Long, Procedure, detail
from paimon_sql.procedures.tags.create_tag import CreateTag
from paimon_sql.procedures.values import duration_of
from paimon_sql.storage.maintenance.tags.management import replace_tag


class ReplaceTag(Procedure):
    """Files that only the old snapshot used are deleted."""

    summary = "Set an existing tag to another snapshot."
    example = "CALL sys.replace_tag(table => 'db.t', tag => 'golden', snapshot => 12)"

    Arguments = CreateTag.Arguments

    class Result(CreateTag.Result, kw_only=True):
        deleted_files: Long = detail("deleted files that only the tag used")
        deleted_bytes: Long = detail("their size in bytes")

    def call(self, context: Context, arguments: CreateTag.Arguments) -> Result:
        retained = duration_of(arguments.time_retained, "time_retained")
        table = context.table(arguments.table)
        tag, freed = replace_tag(table, arguments.tag, arguments.snapshot, retained, dry_run=arguments.dry_run)
        return replace(self.Result.of(tag), deleted_files=freed.count, deleted_bytes=freed.bytes)
