"""``CALL sys.remove_orphan_files``: delete orphan files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.errors import InvalidInputError, NoSuchTableError
from paimon_sql.format.schema.records import Int, Long, Record, column
from paimon_sql.format.text.instants import current_millis, show_instant
from paimon_sql.procedures.base import DRY_RUN, Context, Procedure, Timed, detail, optional, required
from paimon_sql.procedures.values import instant_of, positive
from paimon_sql.storage.execution.task_executor import Executor, LocalExecutor
from paimon_sql.storage.maintenance.orphans.candidates import Search, external_roots, shared_roots
from paimon_sql.storage.maintenance.orphans.removal import Removed, find_orphans, remove_orphans
from paimon_sql.storage.retention.retained_references import other_branches
from paimon_sql.storage.table.table import Table

DAY_MILLIS = 24 * 60 * 60 * 1000


class RemoveOrphanFiles(Procedure):
    """Files that no snapshot, tag or changelog of any branch refers to are remains of failed writes.

    Files newer than a day are kept, since they may be committed later, and so are files with unknown names. All tables
    are searched first: if a snapshot, tag or changelog cannot be read, nothing is deleted.
    """

    summary = "Delete the files that no snapshot, tag or branch uses."
    example = "CALL sys.remove_orphan_files(table => 'db.t', older_than => '2024-01-31 08:00:00', dry_run => true)"

    class Arguments(Record, kw_only=True):
        table: str = required("The table; `db.*` for all tables of a database, `*.*` for all tables of the catalog.")
        older_than: str | None = optional(
            "Delete only files older than this: '2024-01-31 08:00:00' in the session's time zone; a day by default."
        )
        dry_run: bool = optional(DRY_RUN, default=False)
        parallelism: Int | None = optional("The number of tasks per step.")
        mode: str | None = optional(
            "distributed, the default, which uses Spark's executors if there is much to do; or local."
        )

    class Result(Timed, kw_only=True):
        deletedFileCount: Long = column("how many files were deleted")  # noqa: N815
        deletedFileTotalLenInBytes: Long = column("their size in bytes")  # noqa: N815
        data_files: Long = detail("of these, data and changelog files")
        metadata_files: Long = detail("of these, manifests, index files and statistics")
        temporary_files: Long = detail("of these, temporary files")
        empty_directories: Long = detail("removed directories of empty buckets")
        tables: Long = detail("tables that were searched")
        checked_files: Long = detail("files in their directories")
        unknown_files: Long = detail("old files not written by the table's writers, which are kept")
        manifests_read: Long = detail("manifests that were read to find the files in use")
        examples: str | None = detail("the first few of the deleted files")
        note: str = detail("which files were checked, and why others were not", last=True)

    def call(self, context: Context, arguments: Arguments) -> Result:
        older_than = _older_than(context, arguments.older_than)
        executor = _executor(context, arguments.mode, arguments.parallelism)
        search = Search(older_than, executor, arguments.parallelism)
        plans, foreign = [], set()
        for table in _tables(context, arguments.table):
            shared = _shared(context, table)
            foreign |= shared
            plans.append(find_orphans(table, replace(search, foreign=shared)))
        removed = Removed()
        for plan in plans:
            removed.take(remove_orphans(plan, dry_run=arguments.dry_run))
        notes = [f"files from before {show_instant(older_than, context.zone)}"]
        if arguments.dry_run:
            notes.insert(0, "dry run, nothing was deleted")
        if foreign:
            notes.append(f"{', '.join(sorted(foreign))} skipped: other tables have files there, too")
        return self.Result(
            deletedFileCount=removed.count,
            deletedFileTotalLenInBytes=removed.bytes,
            data_files=removed.data,
            metadata_files=removed.metadata,
            temporary_files=removed.temporary,
            empty_directories=removed.directories,
            tables=len(plans),
            checked_files=sum(plan.listed.files for plan in plans),
            unknown_files=sum(plan.listed.strange for plan in plans),
            manifests_read=sum(plan.usage_scan.manifests_read for plan in plans),
            examples="\n".join(removed.shown) or None,
            note="; ".join(notes),
        )


def _older_than(context: Context, text: str | None) -> int:
    now = current_millis()
    given = instant_of(text, context.zone)
    if given is None:
        return now - DAY_MILLIS
    if given >= now:
        raise InvalidInputError(
            f"older_than must not be in the future, but {text} is: files that are being written would be deleted.",
            remedy="Leave it out to keep files newer than a day.",
        )
    return given


def _executor(context: Context, mode: str | None, parallelism: int | None) -> Executor:
    tasks = positive(parallelism)
    name = (mode or "").strip().lower() or "distributed"
    if name == "distributed":
        return context.executor
    if name == "local":
        return LocalExecutor(tasks) if tasks else LocalExecutor()
    raise InvalidInputError(f"mode cannot be '{mode}'.", remedy="Use 'distributed' or 'local'.")


def _tables(context: Context, name: str) -> Iterator[Table]:
    """The tables of a call: one, or all of a database or catalog."""
    parts = [part.strip("`") for part in name.split(".")]
    if parts[-1] != "*":
        yield context.table(name)
        return
    if len(parts) == 3 and parts[0] == context.catalog.name:
        parts = parts[1:]
    if len(parts) > 2 or not all(parts):
        raise InvalidInputError(
            f"'{name}' does not name tables of catalog {context.catalog.name}.", remedy="Write db.*, or *.* for all."
        )
    database = parts[0] if len(parts) == 2 else context.database
    for one in context.catalog.list_databases() if database == "*" else [database]:
        yield from (table for table in _any(context, one) if isinstance(table, Table))


def _any(context: Context, database: str) -> Iterator[AnyTable]:
    """The tables of a database, including those without snapshots."""
    for name in context.catalog.list_tables(database):
        try:
            yield context.catalog.any_table(Identifier(database, name))
        except NoSuchTableError:
            continue  # dropped concurrently


def _roots(table: AnyTable) -> list[str]:
    """The directories of a table's files."""
    if isinstance(table, Table):
        return [table.path, *external_roots([table, *other_branches(table)])]
    return [table.path, table.location]


def _shared(context: Context, table: Table) -> set[str]:
    """The external directories that the table shares with other tables."""
    roots = external_roots([table, *other_branches(table)])
    if not roots:
        return set()
    others = (t for d in context.catalog.list_databases() for t in _any(context, d) if t.path != table.path)
    return shared_roots(roots, (path for other in others for path in _roots(other)))
