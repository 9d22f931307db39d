"""``CALL sys.compact_database``: compact many tables."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_sql.catalog.identifier import Identifier
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
        chosen = context.tracked(list(matching_tables(context.catalog, arguments)))
        done = [found for name in chosen if (found := _compact(context, name, arguments)) is not None]
        answers = [table.answer for table in done if table.answer is not None]
        failed = len(done) - len(answers)
        compacted = sum(answer.compacted_files > 0 for answer in answers)
        nothing = NOTHING_MERGED if done else "the expressions match no table"
        return self.Result(
            result=f"Compact database finished. Success: {len(answers)}, Failed: {failed}",
            compacted_tables=compacted,
            failed_tables=failed,
            compacted_files=sum(answer.compacted_files for answer in answers),
            compacted_bytes=sum(answer.compacted_bytes for answer in answers),
            new_files=None if arguments.dry_run else sum(answer.new_files or 0 for answer in answers),
            new_bytes=None if arguments.dry_run else sum(answer.new_bytes or 0 for answer in answers),
            tables="\n".join(map(_line, done)) or None,
            note=None if compacted else nothing,
        )


@dataclass(frozen=True)
class _Compacted:
    """The outcome for one table: the answer of `compact`, or an error."""

    name: str
    answer: Compact.Result | None = None
    error: str | None = None


def _line(table: _Compacted) -> str:
    answer = table.answer
    if answer is None:
        return f"{table.name}: failed: {table.error}"
    if not answer.compacted_files:
        return f"{table.name}: {answer.note}"
    outcome = "" if answer.new_files is None else f" into {answer.new_files}, snapshot {answer.snapshot_id}"
    return f"{table.name}: {answer.compacted_files} files{outcome}"


def _compact(context: Context, identifier: Identifier, arguments: CompactDatabase.Arguments) -> _Compacted | None:
    """Compact a table; None if it was dropped concurrently, or has no snapshots."""
    table = f"`{identifier.database}`.`{identifier.table}`"
    given = Compact.Arguments(table=table, options=arguments.options, dry_run=arguments.dry_run)
    try:
        row = Compact().call(context, given)
    except (NoSuchTableError, WrongKindError):
        return None
    except (PaimonError, OSError) as error:
        return _Compacted(str(identifier), error=str(error))
    return _Compacted(str(identifier), row)
