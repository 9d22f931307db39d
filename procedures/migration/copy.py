"""``CALL sys.copy``: copy a table file by file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import MAIN_BRANCH, Identifier
from paimon_sql.catalog.table_types import writable
from paimon_sql.errors import CommitUnknownError, DatabaseExistsError, InvalidInputError, NoSuchTableError, PaimonError
from paimon_sql.procedures.base import Context, Done, DryRun, Long, Procedure, Timed, detail, optional, required
from paimon_sql.procedures.partition_choice import WHERE, chosen_partitions
from paimon_sql.procedures.values import NOTHING_DONE
from paimon_sql.storage.branches.selection import with_branch
from paimon_sql.storage.copy.copy import CopyPlan, check_target, copy_files, plan_copy, schemas_of_copy
from paimon_sql.storage.table.table import Table


class Copy(Procedure):
    """The files of the latest snapshot are copied unchanged, and committed as one snapshot of the target.

    If the target does not exist, it is created with its database. Otherwise its content is replaced; with partitions,
    only that of the copied ones. Tags, branches and older snapshots are not copied.
    """

    summary = "Copy a table, or some of its partitions, file by file."
    example = "CALL sys.copy(source_table => 'db.t', target_table => 'db.t_copy', where => \"dt = '2024-01-31'\")"

    class Arguments(DryRun, kw_only=True):
        source_table: str = required("The table; a branch is `t$branch_b`.")
        target_table: str = required("The table to copy to: t, db.t or catalog.db.t.")
        where: str | None = optional(WHERE)

    class Result(Done, Timed, kw_only=True):
        copied_files: Long = detail("data files that were copied")
        copied_index_files: Long = detail("index files that were copied")
        copied_bytes: Long = detail("their size in bytes")
        copied_records: Long = detail("the records in the data files, before merging")
        partitions: Long = detail("number of their partitions")
        source_snapshot_id: Long | None = detail("the snapshot that was copied")
        snapshot_id: Long | None = detail("the created snapshot; null if nothing was done")
        note: str | None = detail("why nothing was done, or that the table was created", last=True)

    def call(self, context: Context, arguments: Arguments) -> Result:
        origin, name = context.locate(arguments.source_table)
        source = with_branch(origin.table(name))
        plan = plan_copy(source, chosen_partitions(source, None, arguments.where, context.zone))
        catalog, identifier = context.locate(arguments.target_table)
        target = _existing(catalog, identifier)
        notes = [f"{catalog.name}.{identifier} is created"] if target is None else []
        if target is not None:
            check_target(plan, target)
        if not plan.files:
            notes.append("there are no rows to copy")
        if arguments.dry_run:
            committed = None
            notes.insert(0, NOTHING_DONE)
        else:
            with _target(catalog, identifier, plan, target) as opened:
                committed = copy_files(plan, opened, context.executor)
        return self.Result(
            copied_files=len(plan.files),
            copied_index_files=len(plan.indexes),
            copied_bytes=plan.bytes,
            copied_records=sum(e.file.row_count for e in plan.files),
            partitions=plan.partitions,
            source_snapshot_id=plan.snapshot.id if plan.snapshot else None,
            snapshot_id=committed.id if committed else None,
            note="; ".join(notes) or None,
        )


def _existing(catalog: Catalog, identifier: Identifier) -> Table | None:
    if identifier.system_table is not None:
        raise InvalidInputError(f"{catalog.name}.{identifier} is not a table that files can be copied to.")
    if not (catalog.database_exists(identifier.database) and catalog.table_exists(identifier)):
        if identifier.branch != MAIN_BRANCH:
            raise NoSuchTableError(f"{catalog.name}.{identifier} does not exist.", name=str(identifier))
        return None
    return with_branch(writable(catalog.table(identifier)))


@contextmanager
def _target(catalog: Catalog, identifier: Identifier, plan: CopyPlan, existing: Table | None) -> Iterator[Table]:
    """The target table; if it is created here, it is dropped again when the copy fails."""
    if existing is not None:
        yield existing
        return
    first, *others = schemas_of_copy(plan)
    with suppress(DatabaseExistsError):
        catalog.create_database(identifier.database, {})
    created = catalog.create_table(identifier, first)
    try:
        for schema in others:
            created.schemas.try_add(schema)
        yield catalog.table(identifier)
    except CommitUnknownError:
        raise
    except PaimonError:
        with suppress(PaimonError):
            if not catalog.table(identifier).snapshots.latest_id():
                catalog.drop_table(identifier)
        raise
