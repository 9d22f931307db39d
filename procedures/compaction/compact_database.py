"""``CALL sys.compact_database``: compact many tables."""

from __future__ import annotations

from paimon_sql.errors import NoSuchTableError, PaimonError, WrongKindError
from paimon_sql.procedures.base import Context, Long, Noted, Procedure, column, detail, optional
from paimon_sql.procedures.compaction.compact import NOTHING_MERGED, Compact
from paimon_sql.procedures.values import OPTIONS, TableExpressions, matching_tables, options_of


class CompactDatabase(Procedure):
    """Runs `compact` for each table that the expressions match, one after the other.

    An expression must match the whole name: that of a database, or of a table with its database, as `db.t`. If a table
    fails, the others are still compacted.
    """

    summary = "Merge the files of the tables of some databases."
    example = "CALL sys.compact_database(including_databases => 'shop|web', excluding_tables => '.*_tmp')"

    class Arguments(TableExpressions, kw_only=True):
        options: str | None = optional(OPTIONS)

    class Result(Noted, kw_only=True):
        result: str = column("how many tables were compacted, and how many failed")
        compacted_tables: Long = detail("tables with merged files")
        failed_tables: Long = detail("tables that failed")
        compacted_files: Long = detail("files that were merged")
        compacted_bytes: Long = detail("their size in bytes")
        new_files: Long | None = detail("files that replaced them; null in a dry run")
        new_bytes: Long | None = detail("their size in bytes; null in a dry run")
        seconds: float = detail("duration in seconds")
        tables: str | None = detail("the outcome of each table, one per line; null if none was chosen")

    def call(self, context: Context, arguments: Arguments) -> Result:
        options_of(arguments.options)  # validate once, before the first table
        compact, dry_run = Compact(), arguments.dry_run
        done: list[Compact.Result] = []
        failed, lines = 0, []
        for name in context.tracked(list(matching_tables(context.catalog, arguments))):
            table = f"`{name.database}`.`{name.table}`"
            given = compact.Arguments(table=table, options=arguments.options, dry_run=dry_run)
            try:
                answer = compact.call(context, given)
            except (NoSuchTableError, WrongKindError):
                continue  # dropped concurrently, or without snapshots
            except (PaimonError, OSError) as error:
                failed += 1
                lines.append(f"{name}: failed: {error}")
                continue
            done.append(answer)
            lines.append(f"{name}: {_outcome(answer)}")
        compacted = sum(answer.compacted_files > 0 for answer in done)
        nothing = NOTHING_MERGED if lines else "the expressions match no table"
        return self.Result(
            result=f"Compact database finished. Success: {len(done)}, Failed: {failed}",
            compacted_tables=compacted,
            failed_tables=failed,
            compacted_files=sum(answer.compacted_files for answer in done),
            compacted_bytes=sum(answer.compacted_bytes for answer in done),
            new_files=None if dry_run else sum(answer.new_files or 0 for answer in done),
            new_bytes=None if dry_run else sum(answer.new_bytes or 0 for answer in done),
            tables="\n".join(lines) or None,
            note=None if compacted else nothing,
        )


def _outcome(answer: Compact.Result) -> str | None:
    if not answer.compacted_files:
        return answer.note
    outcome = "" if answer.new_files is None else f" into {answer.new_files}, snapshot {answer.snapshot_id}"
    return f"{answer.compacted_files} files{outcome}"
